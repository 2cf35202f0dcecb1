/** Asks a program for its version. Some CLIs write to their folders even then, so it gets an empty home of its own. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const answerMs = 30_000

export interface VersionOptions {
  /** The PATH; nothing else of the owner's: no key is needed to say a version, and no folder of theirs is named. */
  path: string | undefined
  signal?: AbortSignal
}

/** What the program prints for `--version`; empty where it does not answer. Never rejects. */
export const askVersion = async (program: string, { path, signal }: VersionOptions): Promise<string> => {
  let home: string
  try {
    home = await mkdtemp(join(tmpdir(), 'unstuck-version-'))
  } catch {
    return '' // a full disk is told elsewhere
  }
  const env = { PATH: path, HOME: home, TERM: 'dumb', GEMINI_CLI_NO_RELAUNCH: 'true' }
  const ending = { timeout: answerMs, killSignal: 'SIGKILL', ...(signal === undefined ? {} : { signal }) } as const
  const answer = await new Promise<string>((resolve) => {
    const child = execFile(program, ['--version'], { cwd: home, env, ...ending }, (_error, stdout) => resolve(stdout))
    // One that has left without reading must not take the engine with it.
    child.stdin?.on('error', () => undefined).end()
  })
  // What it left behind is only in the way.
  await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch(() => undefined)
  return answer
}
