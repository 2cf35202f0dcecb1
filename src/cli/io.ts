/** What a command may touch of its process: one reader of environment, streams and working folder, given by main. */
import { keysOf, type Keys } from './keys.ts'
import { canRedraw, coloursOf, terminalOf, type Terminal } from './live/terminal.ts'

export interface Io {
  cwd: string
  environment: Record<string, string | undefined>
  out(text: string): void
  error(text: string): void
  /** Standard output is meant to have colours. */
  colours: boolean
  /** Standard output, where it can show a block that is redrawn in place. */
  terminal?: Terminal | undefined
  /** A person at a terminal, who can be asked. */
  keys?: Keys | undefined
  /** Standard output holds JSON alone, errors as well. */
  json: boolean
  version: string
  /** Aborted by SIGINT or SIGTERM. */
  signal: AbortSignal
  /** Program and arguments that start this CLI again. */
  self: string[]
}

export const line = (io: Io, text = ''): void => io.out(`${text}\n`)

export const printJson = (io: Io, value: unknown): void => line(io, JSON.stringify(value))

/** How a failure ends the JSON of a command; people read it on standard error. */
export const jsonError = (io: Io, code: string, message: string): void => {
  if (io.json) printJson(io, { error: { code, message } })
}

/** The Io of this process. A signal aborts it, and so does the end of a reader such as head or less. */
export const createIo = (version: string, environment: NodeJS.ProcessEnv, json = false): Io => {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal))
  // A closed pipe is no error: the reader wants nothing more.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') stop.abort('EPIPE')
    else throw error
  })
  return {
    cwd: process.cwd(),
    environment,
    out: (text) => void process.stdout.write(text),
    error: (text) => void process.stderr.write(text),
    colours: coloursOf(environment, process.stdout.isTTY),
    terminal: canRedraw(environment, process.stdout.isTTY) ? terminalOf(process.stdout) : undefined,
    // A build server may give a terminal, and has no person at it.
    keys:
      process.stdin.isTTY && process.stdout.isTTY && (environment.CI ?? '') === '' ? keysOf(process.stdin) : undefined,
    json,
    version,
    signal: stop.signal,
    self: [process.execPath, process.argv[1] ?? ''],
  }
}
