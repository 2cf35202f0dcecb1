/** `unstuck sim <script>`: the scripted model server, for trying things without an account. */
import { once } from 'node:events'
import { simulate } from '../../../sim/main.ts'
import { exitCodes } from '../../errors.ts'
import { printJson, type Io } from '../io.ts'

export const sim = async (io: Io, scriptPath: string, options: { port?: number }): Promise<number> => {
  const server = await simulate({ scriptPath, port: options.port ?? 0, onReady: (pointers) => printJson(io, pointers) })
  if (!io.signal.aborted) await once(io.signal, 'abort')
  await server.close()
  return exitCodes.ok
}
