/** Asks a program for its version. Some CLIs write to their home even then, so the program gets an empty one. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defined } from '../domain/defined.ts'

const answerMs = 30_000

export interface VersionOptions {
  /** The PATH is the only variable of the owner's: a version needs neither keys nor the owner's folders. */
  path: string | undefined
  /** What this CLI needs besides, from its driver. */
  env?: Record<string, string>
  signal?: AbortSignal
}

export interface PrintOptions {
  cwd: string
  env: Record<string, string | undefined>
  signal?: AbortSignal
}

/** What a program prints on its standard output; empty when it prints nothing within 30 s. Never rejects. */
export const printedBy = (program: string, args: string[], { signal, ...where }: PrintOptions): Promise<string> => {
  const ending = { timeout: answerMs, killSignal: 'SIGKILL', ...defined({ signal }) } as const
  return new Promise<string>((resolve) => {
    const child = execFile(program, args, { ...where, ...ending }, (_error, stdout) => resolve(stdout))
    // If the program exits without reading, the error of the pipe must not end the engine.
    child.stdin?.on('error', () => undefined).end()
  }).catch(() => '') // some faults of a start are thrown: a folder that is a file
}

/** What the program prints for `--version`; empty when it prints nothing within 30 s. Never rejects. */
export const askVersion = async (program: string, { path, env: own, signal }: VersionOptions): Promise<string> => {
  let home: string
  try {
    home = await mkdtemp(join(tmpdir(), 'unstuck-version-'))
  } catch {
    return '' // a full disk is reported elsewhere
  }
  const env = { PATH: path, HOME: home, TERM: 'dumb', ...own }
  const answer = await printedBy(program, ['--version'], {
    cwd: home,
    env,
    ...defined({ signal }),
  })
  // Files that cannot be removed only waste space.
  await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch(() => undefined)
  return answer
}
