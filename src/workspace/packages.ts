/**
 * Removes the installed packages of a workspace that no run needs any more. They are most of its size, and a run that re-enters
 * the workspace gets them restored. Files that git tracks are never removed.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { lstatInside } from './lstat-inside.ts'
import { returnDependencies } from './dependencies.ts'
import { removeFolder } from './remove-folder.ts'
import { git, objectName } from './git.ts'
import { inShadow, type Shadow } from './shadow.ts'

export interface PackagesRequest {
  workspace: string
  /** Base commit of the run; null = the run ended before it had one. */
  base: string | null
  /** More folders that were installed for the run, relative to the workspace. */
  more: readonly string[]
  /** Folder for copies of files that changed in trees of the pool. */
  keepIn?: string
  /** Only reports what would be removed. */
  dryRun?: boolean
}

const deepest = 4

const foldersBelow = async (workspace: string, folder: string, depth: number): Promise<string[]> => {
  const entries = await readdir(join(workspace, folder), { withFileTypes: true }).catch(() => [])
  const folders = entries.filter((entry) => entry.isDirectory() && entry.name !== '.git').map(({ name }) => name)
  const here = folders.includes('node_modules') ? [join(folder, 'node_modules')] : []
  if (depth === 0) return here
  const others = folders.filter((name) => name !== 'node_modules')
  return [
    ...here,
    ...(await Promise.all(others.map((name) => foldersBelow(workspace, join(folder, name), depth - 1)))).flat(),
  ]
}

const isTracked = async (shadow: Shadow, base: string | null, folder: string): Promise<boolean> =>
  base !== null && (await git(['ls-tree', '-z', objectName(base), '--', folder], inShadow(shadow))).stdout !== ''

/** Removes the packages or returns them to the pool. Repeating it after a crash removes the rest. Returns the folders. */
export const removePackages = async (shadow: Shadow, request: PackagesRequest): Promise<string[]> => {
  const { workspace, base, more, keepIn, dryRun } = request
  const found: string[] = []
  for (const folder of new Set([...(await foldersBelow(workspace, '', deepest)), ...more])) {
    if ((await lstatInside(workspace, folder))?.isDirectory() !== true) continue
    if (!(await isTracked(shadow, base, folder))) found.push(folder)
  }
  if (dryRun === true) return found
  await returnDependencies(workspace, keepIn)
  for (const folder of found) await removeFolder(join(workspace, folder))
  return found
}
