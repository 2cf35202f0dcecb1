/** `unstuck sim <script>`: the scripted model server, for trying things without an account. */
import { once } from 'node:events'
import { InvalidArgumentError } from 'commander'
import { simHelp } from '../../../sim/help.ts'
import { exitCodes } from '../../errors.ts'
import type { Register } from '../command.ts'
import { printJson, type Io } from '../io.ts'

interface SimOptions {
  port?: number
}

const portNumber = (text: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('give a port from 0 to 65535')
  return value
}

const sim = async (io: Io, scriptPath: string, options: SimOptions): Promise<number> => {
  const { simulate } = await import('../../../sim/main.ts')
  const server = await simulate({ scriptPath, port: options.port ?? 0, onReady: (pointers) => printJson(io, pointers) })
  if (!io.signal.aborted) await once(io.signal, 'abort')
  await server.close()
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('sim')
    .description('a scripted model server for Claude, Codex, Gemini and OpenCode, on loopback')
    .argument('<script>', 'a JSON script')
    .option('--port <n>', 'port, 0 = any', portNumber)
    .addHelpText('after', simHelp)
    .action((script: string, options: SimOptions) => act((io) => sim(io, script, options)))
}
