/**
 * A view: the files of a tree in a folder of their own, without a repository, for a reader that must not change anything. Its files
 * are read-only, and every difference from the tree is found afterwards, also in files that git would ignore.
 */
import { chmod, lstat, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { lstatInside } from './lstat-inside.ts'
import { changesBetween, inspectFiles, resetIndex } from './changes.ts'
import { git, objectName } from './git.ts'
import { removeFolder } from './remove-folder.ts'
import { overFiles, overRawFiles, withIndex } from './shadow.ts'
import type { Shadow } from './shadow.ts'

export interface ViewRequest {
  tree: string
  /** Absolute. What is there is replaced. */
  dir: string
  /** Private to this view. */
  indexFile: string
}

/** Symlinks are left alone, because they may lead out of the view. */
const makeReadOnly = async (dir: string): Promise<void> => {
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) await makeReadOnly(path)
    else if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o555)
  }
  await chmod(dir, 0o555)
}

/** Writes the exact bytes of the tree, without conversion of line endings, so that they can be compared later. */
export const layView = async (shadow: Shadow, { tree, dir, indexFile }: ViewRequest): Promise<void> => {
  await removeFolder(dir)
  await rm(indexFile, { force: true })
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const at = overRawFiles(shadow, dir, indexFile)
  await git(['read-tree', objectName(tree)], at)
  await git(['checkout-index', '--all', '--force', '--quiet'], at)
  await makeReadOnly(dir)
}

/** Paths that differ from the tree. */
export const viewChanges = async (shadow: Shadow, { tree, dir, indexFile }: ViewRequest): Promise<string[]> => {
  const top = await lstat(dir).catch(() => undefined)
  if (top?.isDirectory() !== true) return ['.']
  const at = overRawFiles(shadow, dir, indexFile)
  await resetIndex(at, tree)
  const { store, remove, nested, leftOut } = await inspectFiles(at, 'nothing')
  return [...new Set([...store, ...remove, ...nested, ...leftOut.map(({ path }) => path)])].sort()
}

/** Brings the files that differ between two captured trees of a folder back to the first of them. */
export const revertFiles = async (
  shadow: Shadow,
  { before, after, workTree }: { before: string; after: string; workTree: string },
): Promise<void> => {
  const changes = await changesBetween(shadow, after, before)
  for (const { path } of changes.filter(({ kind }) => kind === 'deleted')) {
    const found = await lstatInside(workTree, path)
    if (found?.isFile() === true || found?.isSymbolicLink() === true) await rm(join(workTree, path))
  }
  const written = changes.filter(({ kind }) => kind !== 'deleted').map(({ path }) => `${path}\0`)
  if (written.length === 0) return
  await withIndex(shadow, async (indexFile) => {
    const at = overFiles(shadow, workTree, indexFile)
    await git(['read-tree', objectName(before)], at)
    await git(['checkout-index', '--force', '-z', '--stdin'], { ...at, input: written.join('') })
  })
}
