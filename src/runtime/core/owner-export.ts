/**
 * Files that Unstuck writes into the owner's checkout for people and other programs. They are exports: the store decides, and they are never
 * read back as input. Agents can write there too, so no link is followed, and a place that cannot be written costs only the file.
 */
import { dirname, join } from 'node:path'
import type { Context } from './context.ts'
import { readIfFile, type Files } from './files.ts'

/** Folder of the owner's settings, below which the exports are. */
export const exportFolder = '.unstuck'

/** Whether we may write there: a link, also one that leads nowhere yet, would take the text to another place. */
export const isOwnPlace = (files: Files, path: string): boolean => !files.isLink(path)

/**
 * Excludes a pattern by the repository's own list, which is never committed. Only appends: the list is the owner's. False = the list is a
 * link, and nothing was written.
 */
export const excludeFromGit = ({ ports: { files } }: Context, commonDir: string, pattern: string): boolean => {
  const list = join(commonDir, 'info', 'exclude')
  if (!isOwnPlace(files, list)) return false
  const text = readIfFile(files, list) ?? ''
  if (text.split('\n').includes(pattern)) return true
  files.mkdirSync(dirname(list), { recursive: true })
  files.appendFileSync(list, `${text === '' || text.endsWith('\n') ? '' : '\n'}${pattern}\n`)
  return true
}

/**
 * Lets git ignore everything in a folder of ours, this list included. The list is in the folder itself, so it also holds in a repository that
 * was made again, and nothing of the owner's is changed.
 */
export const ignoreAllIn = (files: Files, folder: string): void => {
  const list = join(folder, '.gitignore')
  const text = '# Exports of Unstuck\n*\n'
  if (!isOwnPlace(files, list) || readIfFile(files, list) !== text) replaceFile(files, list, text, 0o644)
}

/**
 * Replaces a file in one step, so that no reader and no crash sees half of it. The temporary file is always new: a link that was planted in
 * its place would be followed.
 */
export const replaceFile = (files: Files, path: string, text: string, mode: number): void => {
  const next = `${path}.new`
  files.rmSync(next, { force: true })
  files.writeFileSync(next, text, { mode, flag: 'wx' })
  files.renameSync(next, path)
}
