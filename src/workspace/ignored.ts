/**
 * Which paths the ignore files of a commit cover. The ignore files in the agent's workspace do not count: an agent could write
 * them to hide a change.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { foldersAbove } from '../domain/folders-above.ts'
import { fileTextAt } from './contents.ts'
import { fieldsOf, git, objectName } from './git.ts'
import { inShadow, overFiles, type Shadow } from './shadow.ts'

const ignoreFile = '.gitignore'

/**
 * The entries among `paths` (files or folders) that a commit or tree contains. Everything below their top folders is listed: with
 * a folder and a path inside it as arguments, git lists only the inner one.
 */
export const presentAt = async (shadow: Shadow, treeish: string, paths: readonly string[]): Promise<Set<string>> => {
  const wanted = new Set(paths)
  const tops = [...new Set(paths.map((path) => path.split('/')[0] ?? ''))].filter((top) => top !== '')
  const found = new Set<string>()
  // In groups, because the arguments of one program are limited.
  for (let index = 0; index < tops.length; index += 500) {
    const args = ['ls-tree', '-r', '-t', '-z', '--name-only', '--full-tree', objectName(treeish), '--']
    const { stdout } = await git([...args, ...tops.slice(index, index + 500)], inShadow(shadow))
    for (const path of fieldsOf(stdout)) if (wanted.has(path)) found.add(path)
  }
  return found
}

/** The paths that git would ignore, if they were untracked, by the ignore files of `commit` and the owner's own patterns. */
export const ignoredAt = async (shadow: Shadow, commit: string, paths: readonly string[]): Promise<Set<string>> => {
  if (paths.length === 0) return new Set()
  const folders = [...new Set(paths.flatMap((path) => ['', ...foldersAbove(path)]))]
  const files = folders.map((folder) => (folder === '' ? ignoreFile : `${folder}/${ignoreFile}`))
  const present = await presentAt(shadow, commit, files)
  const top = await mkdtemp(join(shadow.gitDir, 'ignored-'))
  try {
    for (const file of present) {
      await mkdir(join(top, dirname(file)), { recursive: true })
      await writeFile(join(top, file), (await fileTextAt(shadow, commit, file)) ?? '')
    }
    // Every path begins with `./`, because this command reads a colon at the beginning as pathspec magic and has no literal mode.
    const input = paths.map((path) => `./${path}\0`).join('')
    const args = ['check-ignore', '-z', '--stdin', '--no-index']
    const variables = { GIT_LITERAL_PATHSPECS: '0' }
    const at = { ...overFiles(shadow, top, join(top, '.index')), input, variables, okCodes: [0, 1] }
    return new Set(fieldsOf((await git(args, at)).stdout).map((path) => path.slice(2)))
  } finally {
    await rm(top, { recursive: true, force: true })
  }
}
