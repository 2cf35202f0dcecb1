/** What a branch adds to the default branch of its remote. */
import { execFileSync } from 'node:child_process'

/** The output of a git command; undefined where it fails, as in a folder without git or a clone without that commit. */
export const gitOutput = (folder: string, ...args: string[]): string | undefined => {
  try {
    return execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined // the caller says what this means
  }
}

/** Where this branch left the remote's default branch; undefined = no remote is known, or a shallow clone does not contain it. */
export const mergeBase = (folder: string): string | undefined =>
  gitOutput(folder, 'merge-base', 'refs/remotes/origin/HEAD', 'HEAD')
