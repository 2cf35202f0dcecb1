/** Reads the content of a commit from its objects, because a repository by URL has no checkout. */
import type { Repository } from './repository-types.ts'
import { fieldsOf, git, objectName } from './git.ts'
import { inRepository } from './refs.ts'
import { gitOnObjects } from './object-cache.ts'
import { inShadow, type Shadow } from './shadow.ts'

const largestText = 1024 * 1024

/** The most files of a commit whose texts are read. */
const mostTexts = 100

export interface FilesOfCommit {
  names: string[]
  /** Texts of the wanted files that are plain ones of at most 1 MiB. */
  texts: Record<string, string>
}

export const filesOfCommit = async (
  repository: Repository,
  commit: string,
  isWanted: (path: string) => boolean,
): Promise<FilesOfCommit> => {
  const place = inRepository(repository)
  const list = async (...args: string[]): Promise<string[]> =>
    fieldsOf((await git(['ls-tree', '-z', '--full-tree', ...args], place)).stdout)
  const names = await list('-r', '--name-only', objectName(commit))
  const wanted = names.filter(isWanted).slice(0, mostTexts)
  const texts: Record<string, string> = {}
  for (const line of wanted.length === 0 ? [] : await list('-l', objectName(commit), '--', ...wanted)) {
    const [, object = '', size = '', name = ''] = /^100\d{3} blob ([0-9a-f]+) +(\d+)\t(.+)$/s.exec(line) ?? []
    if (object === '' || Number(size) > largestText) continue
    texts[name] = (await git(['cat-file', 'blob', objectName(object)], place)).stdout
  }
  return { names, texts }
}

/** The tree of a commit; a tree is returned as it is. */
export const treeOf = async (shadow: Shadow, commit: string): Promise<string> => {
  const args = ['rev-parse', '--verify', '--quiet', `${objectName(commit)}^{tree}`]
  return (await gitOnObjects(args, inShadow(shadow))).stdout.trim()
}
