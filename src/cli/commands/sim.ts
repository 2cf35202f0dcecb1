/** `unstuck sim <script>`: serves scripted model responses, so that agents can be tried without an account. */
import { once } from 'node:events'
import { InvalidArgumentError } from 'commander'
import { simHelp } from '../../../sim/help.ts'
import { exitCodes } from '../../errors.ts'
import type { Register } from '../command-options.ts'
import { printJson, type Io } from '../io.ts'

interface SimOptions {
  port?: number
}

const portNumber = (text: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('Give a port from 0 to 65535.')
  return value
}

const sim = async (io: Io, scriptPath: string, options: SimOptions): Promise<number> => {
  const { simulate } = await import('../../../sim/simulate.ts')
  const server = await simulate({ scriptPath, port: options.port ?? 0, onReady: (pointers) => printJson(io, pointers) })
  if (!io.signal.aborted) await once(io.signal, 'abort')
  await server.close()
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('sim')
    .description('serve scripted model responses to Claude Code, Codex, Gemini CLI and OpenCode, on loopback')
    .argument('<script>', 'script in JSON (its format is below)')
    .option('--port <n>', 'port to listen on; 0 = any free port', portNumber)
    .addHelpText('after', simHelp)
    .action((script: string, options: SimOptions) => act((io) => sim(io, script, options)))
}
