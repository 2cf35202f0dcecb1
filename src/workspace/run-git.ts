/**
 * One git command, in the form in which it can also be sent to another process. Node's own `execFile`, because the process that starts git
 * is to stay small (git-starter.ts): execa adds 22 MB.
 */
import { execFile, type ExecFileException } from 'node:child_process'

export interface GitCommand {
  args: string[]
  cwd: string
  /** Added to the variables of the process that starts git. Undefined = not set. */
  env: Record<string, string | undefined>
  /** False = no variable is inherited. */
  extendEnv: boolean
  input: string
  /** `latin1`: one character per byte. Default: UTF-8. */
  encoding?: 'latin1'
  timeoutMs: number
  /** In bytes, of stdout and of stderr. */
  maxBuffer: number
}

export interface GitExit {
  /** Absent = it was ended by a signal, or not even started. */
  exitCode?: number
  signal?: string
  timedOut: boolean
  isCanceled: boolean
  isMaxBuffer: boolean
  stdout: string
  stderr: string
  /** Why it could not be started. */
  reason?: string
}

const endOf = (error: ExecFileException | null): Pick<GitExit, 'exitCode' | 'signal' | 'reason'> => {
  if (error === null) return { exitCode: 0 }
  if (typeof error.code === 'number') return { exitCode: error.code }
  return error.signal == null ? { reason: error.message } : { signal: error.signal }
}

/** Of a command that did not run to its end. */
export const noOutput = { timedOut: false, isCanceled: false, isMaxBuffer: false, stdout: '', stderr: '' } as const

const start = (command: GitCommand, signal?: AbortSignal): Promise<GitExit> =>
  new Promise((resolve) => {
    const { args, extendEnv, input, encoding = 'utf8', timeoutMs, maxBuffer } = command
    const env = { ...(extendEnv ? process.env : {}), ...command.env }
    const options = { cwd: command.cwd, env, encoding, timeout: timeoutMs, maxBuffer }
    let isCanceled = false
    const child = execFile('git', args, options, (error, stdout, stderr) => {
      signal?.removeEventListener('abort', cancel)
      const isMaxBuffer = error?.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER'
      const timedOut = error?.killed === true && !isMaxBuffer && !isCanceled
      resolve({ ...endOf(error), timedOut, isCanceled, isMaxBuffer, stdout: String(stdout), stderr: String(stderr) })
    })
    const cancel = (): void => void (isCanceled = child.kill() || isCanceled)
    if (signal?.aborted === true) cancel()
    else signal?.addEventListener('abort', cancel, { once: true })
    // Git may end without reading its input.
    child.stdin?.on('error', () => undefined).end(input)
  })

/**
 * Settles when git has ended, also after a cancellation, so that its lock files are gone by then. Never rejects: some faults of a start are
 * thrown (a folder that is a file, arguments that are too long), and they would end the process that starts git for all runs.
 */
export const runGit = (command: GitCommand, signal?: AbortSignal): Promise<GitExit> =>
  start(command, signal).catch((error: unknown) => ({
    ...noOutput,
    reason: error instanceof Error ? error.message : String(error),
  }))
