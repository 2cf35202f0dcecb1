/** Reads the content of a commit from its objects, because a repository by URL has no checkout. */
import type { Repository } from './repository-types.ts'
import { fieldsOf, git, objectName } from './git.ts'
import { inRepository } from './refs.ts'
import { gitOnObjects } from './object-cache.ts'
import { inShadow, type Shadow } from './shadow.ts'

const largestText = 1024 * 1024

export interface TopOfCommit {
  names: string[]
  /** Texts of the wanted names that are plain files of at most 1 MiB. */
  texts: Record<string, string>
}

export const topOfCommit = async (repository: Repository, commit: string, wanted: string[]): Promise<TopOfCommit> => {
  const place = inRepository(repository)
  const { stdout } = await git(['ls-tree', '-z', '-l', objectName(commit)], place)
  const names: string[] = []
  const texts: Record<string, string> = {}
  for (const line of fieldsOf(stdout)) {
    const match = /^(\d{6}) blob ([0-9a-f]+) +(\d+)\t(.+)$/s.exec(line)
    names.push(line.slice(line.indexOf('\t') + 1))
    const [, mode = '', object = '', size = '', name = ''] = match ?? []
    if (!mode.startsWith('100') || !wanted.includes(name) || Number(size) > largestText) continue
    texts[name] = (await git(['cat-file', 'blob', objectName(object)], place)).stdout
  }
  return { names, texts }
}

/** The tree of a commit; a tree is returned as it is. */
export const treeOf = async (shadow: Shadow, commit: string): Promise<string> => {
  const args = ['rev-parse', '--verify', '--quiet', `${objectName(commit)}^{tree}`]
  return (await gitOnObjects(args, inShadow(shadow))).stdout.trim()
}
