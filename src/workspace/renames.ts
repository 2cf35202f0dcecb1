/** Files that commits renamed. */
import type { Repository } from './repository-types.ts'
import { git, objectName } from './git.ts'
import { inRepository } from './refs.ts'

export interface MovedFile {
  from: string
  to: string
}

const mostCommits = 500

/** Renames in the newest commits of `tip` after a time (by their commit dates), the oldest first. Merges are followed, not compared. */
export const renamesSince = async (
  repository: Repository,
  { tip, since }: { tip: string; since: Date },
): Promise<MovedFile[]> => {
  const args = ['log', `--max-count=${mostCommits}`, `--since=${since.toISOString()}`, '-M', '--diff-filter=R']
  const shown = ['--name-status', '-z', '--format=', '--no-show-signature', '--no-ext-diff', '--no-textconv']
  const { stdout } = await git([...args, ...shown, objectName(tip), '--'], inRepository(repository))
  const fields = stdout.split('\0').map((field) => field.trimStart())
  const found: MovedFile[] = []
  for (let at = 0; at + 2 < fields.length;) {
    const [status = '', from = '', to = ''] = fields.slice(at, at + 3)
    if (/^R\d+$/.test(status)) {
      found.push({ from, to })
      at += 3
    } else at += 1
  }
  return found.reverse()
}
