/**
 * Brings a work tree in which programs ran back to the files of a commit, as far as that is possible without reading them: what the commit
 * does not have goes, and so does a file whose type, mode or number of links is not that of a fresh checkout. Links are never followed.
 */
import { chmodSync, lstatSync, readdirSync, rmSync, rmdirSync, unlinkSync, type Stats } from 'node:fs'
import { join } from 'node:path'

/** Mode of each path of the commit, as git writes it. */
export type TreeModes = ReadonlyMap<string, string>

const gitlink = '160000'

const foldersOf = (modes: TreeModes): Set<string> => {
  const folders = new Set<string>([''])
  for (const [path, mode] of modes) {
    if (mode === gitlink) folders.add(path)
    for (let end = path.lastIndexOf('/'); end !== -1; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end)
      if (folders.has(folder)) break
      folders.add(folder)
    }
  }
  return folders
}

const bits = 0o7777

/** A second name of a file, perhaps outside of the tree, would allow changing it later. */
const isFresh = (found: Stats, mode: string | undefined, umask: number): boolean => {
  if (mode === '120000') return found.isSymbolicLink()
  if (mode !== '100644' && mode !== '100755') return false
  const wanted = (mode === '100755' ? 0o777 : 0o666) & ~umask
  return found.isFile() && found.nlink === 1 && (found.mode & bits) === wanted
}

/** Reads and writes synchronously. Call it in a separate process, because a large tree takes seconds. Throws at what it cannot remove. */
export const stripTree = (root: string, modes: TreeModes, umask: number): void => {
  const folders = foldersOf(modes)
  const { dev } = lstatSync(root)
  const remove = (path: string, found: Stats): void => {
    if (found.dev !== dev) throw new Error(`${path} is on another file system`)
    if (!found.isDirectory()) return unlinkSync(path)
    if ((found.mode & 0o700) !== 0o700) chmodSync(path, 0o700)
    for (const name of readdirSync(path)) remove(join(path, name), lstatSync(join(path, name)))
    rmdirSync(path)
  }
  const visit = (inside: string, found: Stats): void => {
    const path = join(root, inside)
    // Modes of entries that were inherited, such as the group of a folder, stay as the system sets them.
    if ((found.mode & 0o777) !== (0o777 & ~umask)) chmodSync(path, 0o777 & ~umask)
    for (const name of readdirSync(path)) {
      const below = inside === '' ? name : `${inside}/${name}`
      const entry = lstatSync(join(root, below))
      if (entry.isDirectory() && entry.dev === dev && folders.has(below)) visit(below, entry)
      else if (!isFresh(entry, modes.get(below), umask)) remove(join(root, below), entry)
    }
  }
  rmSync(join(root, '.git'), { recursive: true, force: true })
  visit('', lstatSync(root))
}
