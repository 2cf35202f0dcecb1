/** The line of commits that a branch took between two points, as objects: for finding again what was published before. */
import { trailersOf } from './commit.ts'
import type { Repository } from './contract.ts'
import { git, objectName } from './git.ts'
import { inRepository } from './refs.ts'

export interface LineCommit {
  commit: string
  /** Null where the line begins. */
  parent: string | null
  trailers: Record<string, string>
}

/** First parents from `tip` back to `head` (left out), newest first, at most `limit`. */
export const commitsBetween = async (
  repository: Repository,
  { head, tip }: { head: string; tip: string },
  limit: number,
): Promise<LineCommit[]> => {
  const args = ['log', '--first-parent', '-z', `--max-count=${limit}`, '--format=%H %P%n%B', '--no-show-signature']
  const { stdout } = await git([...args, objectName(tip), `^${objectName(head)}`, '--'], inRepository(repository))
  return stdout
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => {
      const end = entry.indexOf('\n')
      const [commit = '', parent = ''] = entry.slice(0, end).split(' ')
      return { commit, parent: parent === '' ? null : parent, trailers: trailersOf(entry.slice(end + 1)) }
    })
}

/** Whether `tip` holds `commit`; a commit that is not here is held by nothing. */
export const isBelow = async (repository: Repository, commit: string, tip: string): Promise<boolean> => {
  const args = ['merge-base', '--is-ancestor', objectName(commit), objectName(tip)]
  return (await git(args, { ...inRepository(repository), okCodes: [0, 1, 128] })).code === 0
}
