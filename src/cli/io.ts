/** What a command may touch of its process: one reader of environment, streams and working folder, given by main. */
export interface Io {
  cwd: string
  environment: Record<string, string | undefined>
  out(text: string): void
  error(text: string): void
  /** Standard output is a terminal that shows colours. */
  colours: boolean
  version: string
  /** Aborted by SIGINT or SIGTERM. */
  signal: AbortSignal
  /** Program and arguments that start this CLI again. */
  self: string[]
}

export const line = (io: Io, text = ''): void => io.out(`${text}\n`)

export const printJson = (io: Io, value: unknown): void => line(io, JSON.stringify(value))
