/**
 * Gives a clone the names that the owner's checkout has for its commits: branches, tags and remote-tracking refs. Checks ask for
 * them (`git describe`, `git diff origin/main...HEAD`, a version from a tag), and without them they fail on every commit. They are
 * copies: whatever is done to them in the clone, the owner's refs stay.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { foldersAbove } from '../domain/folders-above.ts'
import { isGoalBranch } from '../domain/goal.ts'
import { git } from './git.ts'
import { inRepository } from './refs.ts'
import type { Repository } from './repository-types.ts'

const shared = ['refs/heads', 'refs/tags', 'refs/remotes']

/** Our own branches, and branches whose names would lie in the way of the clone's own: git keeps no `a/b` beside a branch `a`. */
const isLeftOut = (ref: string, branch: string): boolean =>
  ref.startsWith('refs/heads/unstuck/') ||
  (ref.startsWith('refs/heads/') && isGoalBranch(ref)) ||
  [branch, ...foldersAbove(branch)].includes(ref.slice('refs/heads/'.length)) ||
  ref.startsWith(`refs/heads/${branch}/`)

/** Writes the refs into a fresh clone that shares the owner's objects. `branch`: the clone's own. */
export const shareRefs = async (
  owners: Repository,
  { gitDir, branch }: { gitDir: string; branch: string },
): Promise<void> => {
  if (owners.commonDir === null) return
  const format = '--format=%(objectname) %(refname)%00%(symref)'
  const { stdout } = await git(['for-each-ref', format, ...shared], inRepository(owners))
  const entries = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\0') as [named: string, symbolic: string])
    .filter(([named]) => !isLeftOut(named.slice(named.indexOf(' ') + 1), branch))
  const plain = entries.filter(([, symbolic]) => symbolic === '').map(([named]) => `${named}\n`)
  if (plain.length > 0) await writeFile(join(gitDir, 'packed-refs'), `# pack-refs with: sorted\n${plain.join('')}`)
  for (const [named, symbolic] of entries.filter((entry) => entry[1] !== '')) {
    const path = join(gitDir, named.slice(named.indexOf(' ') + 1))
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, `ref: ${symbolic}\n`)
  }
}
