/** The commits of a branch between two points, to find what was already published. */
import type { RecentCommit } from '../domain/commit-message.ts'
import { trailersOf } from './commit.ts'
import type { Repository } from './repository-types.ts'
import { git, objectName } from './git.ts'
import { inRepository } from './refs.ts'

export interface BranchCommit {
  commit: string
  /** Null for a root commit. */
  parent: string | null
  /** First line of the message. */
  subject: string
  message: string
  trailers: Record<string, string>
}

/** The first-parent commits from `tip` back to `head` (excluded), newest first, at most `limit`. */
export const commitsBetween = async (
  repository: Repository,
  { head, tip }: { head: string; tip: string },
  limit: number,
): Promise<BranchCommit[]> => {
  const args = ['log', '--first-parent', '-z', `--max-count=${limit}`, '--format=%H %P%n%B', '--no-show-signature']
  const { stdout } = await git([...args, objectName(tip), `^${objectName(head)}`, '--'], inRepository(repository))
  return stdout
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => {
      const end = entry.indexOf('\n')
      const [commit = '', parent = ''] = entry.slice(0, end).split(' ')
      const message = entry.slice(end + 1)
      const subject = message.split('\n', 1)[0] ?? ''
      return { commit, parent: parent === '' ? null : parent, subject, message, trailers: trailersOf(message) }
    })
}

export interface HistoryCommit {
  commit: string
  message: string
}

/**
 * The commits of `tip` that `from` does not contain, on all lines of history and without merges, newest first. Only `tip` where `from` is no
 * longer known here: the branch was rewritten.
 */
export const commitsSince = async (
  repository: Repository,
  { from, tip }: { from: string; tip: string },
  limit: number,
): Promise<HistoryCommit[]> => {
  const isKnown =
    (
      await git(['cat-file', '-e', `${objectName(from)}^{commit}`], {
        ...inRepository(repository),
        okCodes: [0, 1, 128],
      })
    ).code === 0
  const range = isKnown ? ['--no-merges', `--max-count=${limit}`, `^${objectName(from)}`] : ['--max-count=1']
  const args = ['log', '-z', '--format=%H%n%B', '--no-show-signature', ...range, objectName(tip), '--']
  const { stdout } = await git(args, inRepository(repository))
  return stdout
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => {
      const end = entry.indexOf('\n')
      return { commit: entry.slice(0, end), message: entry.slice(end + 1) }
    })
}

/** The newest commits before `tip` that are neither merges nor Unstuck's own. Empty for a commit that does not exist here. */
export const recentCommits = async (repository: Repository, tip: string, limit: number): Promise<RecentCommit[]> => {
  const own = ['--invert-grep', '--grep=^Unstuck-Task: ']
  const format = '--format=%s%x01%(trailers:key=Signed-off-by,valueonly)'
  const args = ['log', '--no-merges', ...own, '-z', `--max-count=${limit}`, format, '--no-show-signature']
  const found = await git([...args, objectName(tip), '--'], { ...inRepository(repository), okCodes: [0, 128] })
  if (found.code !== 0) return []
  return found.stdout.split('\0').flatMap((entry) => {
    const [title = '', signedOffBy = ''] = entry.split('\x01')
    return title === '' ? [] : [{ title, isSignedOff: signedOffBy.trim() !== '' }]
  })
}

/** Whether `commit` is `tip` or an ancestor of it. False for a commit that does not exist here. */
export const isContainedIn = async (repository: Repository, commit: string, tip: string): Promise<boolean> => {
  const args = ['merge-base', '--is-ancestor', objectName(commit), objectName(tip)]
  return (await git(args, { ...inRepository(repository), okCodes: [0, 1, 128] })).code === 0
}

/** The newest commit that both contain; null = they have no history in common. */
export const mergeBase = async (repository: Repository, one: string, other: string): Promise<string | null> => {
  const args = ['merge-base', objectName(one), objectName(other)]
  const found = await git(args, { ...inRepository(repository), okCodes: [0, 1] })
  return found.code === 0 ? found.stdout.trim() : null
}
