/**
 * Installed packages of a workspace that no run needs any more: they are most of its size, and whoever enters a workspace again
 * gets them laid again. What git tracks is never among them.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { lstatInside } from './changes.ts'
import { returnDependencies } from './dependencies.ts'
import { removeFolder } from './remove-folder.ts'
import { git, objectName } from './git.ts'
import { inShadow, type Shadow } from './shadow.ts'

export interface PackagesRequest {
  workspace: string
  /** Commit that the run began from; null = the run did not get so far. */
  base: string | null
  /** More folders that were installed for the run, relative to the workspace. */
  more: readonly string[]
  /** Folder for what was changed in trees that the pool had given. */
  keepIn?: string
  /** Only says what would go. */
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

/** Removes them, or gives them back to the pool; repeating it after a crash removes the rest. Gives the folders. */
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
