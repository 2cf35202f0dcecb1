/** The process as a command sees it: environment, streams and working folder, passed in by main so that tests can replace them. */
import { promptOf, type Prompt } from './prompt.ts'
import { canRedraw, coloursOf, terminalOf, type Terminal } from './live/terminal.ts'

export interface Io {
  cwd: string
  environment: Record<string, string | undefined>
  out(text: string): void
  error(text: string): void
  /** Whether standard output gets colours. */
  colours: boolean
  /** Standard output, if it can redraw a block in place. */
  terminal?: Terminal | undefined
  /** Keyboard input, if a person at a terminal can answer. */
  prompt?: Prompt | undefined
  /** Standard output contains only JSON, including errors. */
  json: boolean
  version: string
  /** Aborted by SIGINT, SIGTERM or SIGHUP, and when the reader of standard output closes. */
  signal: AbortSignal
  /** Program and first arguments that start this CLI. */
  self: string[]
}

export const printLine = (io: Io, text = ''): void => io.out(`${text}\n`)

export const printJson = (io: Io, value: unknown): void => printLine(io, JSON.stringify(value))

/** Ends the JSON output with the error, if the command prints JSON. People read the error on standard error. */
export const jsonError = (io: Io, code: string, message: string): void => {
  if (io.json) printJson(io, { error: { code, message } })
}

/** The Io of this process. A signal aborts it, and so does a reader such as head or less that closes the pipe. */
export const createIo = (version: string, environment: NodeJS.ProcessEnv, json = false): Io => {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal))
  // A closed pipe is not an error: head and less close it when they have read enough.
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
    // A build server may provide a terminal without a person who could answer.
    prompt:
      process.stdin.isTTY && process.stdout.isTTY && (environment.CI ?? '') === ''
        ? promptOf(process.stdin)
        : undefined,
    json,
    version,
    signal: stop.signal,
    self: [process.execPath, process.argv[1] ?? ''],
  }
}
