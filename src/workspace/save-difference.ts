/** Saves the changed files of a package tree before it is discarded, because an agent may have edited them to find an error. */
import { copyFile, lstat, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TreeDifference } from './tree-content.ts'

/** An agent's own edits are small. A larger difference comes from an install, which the lockfile documents. */
const mostFiles = 200
const mostBytes = 4 * 1024 * 1024

const isCache = (path: string): boolean => /(^|\/)\.(?:cache|vite|vite-temp|vitest)(\/|$)/.test(path)

/** Writes the list and as many changed files as fit into the limits; nothing if only caches changed. */
export const saveDifference = async (tree: string, difference: TreeDifference, into: string): Promise<void> => {
  const named = (['added', 'changed', 'removed'] as const).flatMap((kind) =>
    difference[kind].filter((path) => !isCache(path)).map((path) => ({ kind, path })),
  )
  if (named.length === 0) return
  await mkdir(into, { recursive: true, mode: 0o700 })
  await writeFile(join(into, 'changes.txt'), named.map(({ kind, path }) => `${kind}: ${path}\n`).join(''))
  let left = mostBytes
  for (const { path } of named.filter(({ kind }) => kind !== 'removed').slice(0, mostFiles)) {
    const found = await lstat(join(tree, path))
    if (!found.isFile() || found.size > left) continue
    left -= found.size
    await mkdir(dirname(join(into, 'files', path)), { recursive: true, mode: 0o700 })
    await copyFile(join(tree, path), join(into, 'files', path))
  }
}
