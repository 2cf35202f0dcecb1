/**
 * Provides a fresh workspace with installed packages without running an install: a ready tree of the pool, or a copy of the
 * user's packages if the lockfile is the same. Never a link into the user's tree, because an install in the workspace would
 * write through it.
 */
import { lstat, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { removeFolder } from './remove-folder.ts'
import { lstatInside } from './lstat-inside.ts'
import type { Repository } from './repository-types.ts'
import { copyInstalled } from './copy-installed.ts'
import { isFolder } from './installed/bounded-read.ts'
import { installedFolders, packageKeyOf, lockOf } from './package-kind.ts'
import { layFromPool, layOwnInstalls } from './own-installs.ts'
import { poolKindOf, returnTree, registerKind } from './package-pool.ts'
import { readTrees, treesFile, recordTree } from './package-record.ts'

export interface Preparation {
  kind: 'none' | 'copied' | 'skipped'
  reason: string
  ms: number
  /** What was left out and why, for example symlinks out of the user's checkout. */
  notes: string[]
}

export interface PreparationRequest {
  repository: Repository
  workspace: string
  cacheDir: string
  signal?: AbortSignal
  /** Copies from the checkout again, because the cached tree is damaged. */
  anew?: true
}

/** True for a symlink as well, because an entry that an agent created is not replaced. */
const isThere = async (path: string): Promise<boolean> => (await lstat(path).catch(() => undefined)) !== undefined

/** Moves a ready tree into the workspace; else copies the source, or the checkout if there is no source yet. */
const provide = async (request: PreparationRequest, folder: string, lockHash: string): Promise<string[]> => {
  const { root } = request.repository
  const key = await packageKeyOf(root, folder, lockHash)
  const kind = poolKindOf(request.cacheDir, key)
  if (request.anew === true) await removeFolder(kind.dir)
  await registerKind(kind, { root, folder, lockHash })
  await recordTree(request, { folder, key })
  if (await layFromPool(request, folder, kind)) return []
  const making = `${request.workspace}.dependencies`
  await removeFolder(making)
  const notes = await copyInstalled({ root, folder }, making, request.signal)
  await rename(making, join(request.workspace, folder, 'node_modules'))
  return notes
}

/** Provides every package folder whose lockfile is the same in checkout and workspace. Repeating it adds what is missing. */
export const prepareDependencies = async (request: PreparationRequest): Promise<Preparation> => {
  const start = performance.now()
  const notes: string[] = []
  const result = (kind: Preparation['kind'], reason: string): Preparation => ({
    kind,
    reason,
    ms: Math.round(performance.now() - start),
    notes,
  })
  const places = { root: request.repository.root, workspace: request.workspace }
  const folders = await installedFolders(places)
  let copied = 0
  for (const folder of folders) {
    request.signal?.throwIfAborted()
    const lock = await lockOf(places, folder)
    if (lock === undefined)
      notes.push(
        `${join(folder, 'node_modules')} has neither a lockfile nor a record of what its manifest asks for, and was left out`,
      )
    else if (lock.hash === null) notes.push(`${lock.name} differs from the one in the checkout`)
    else if (await isThere(join(request.workspace, folder, 'node_modules'))) copied += 1
    else {
      notes.push(...(await provide(request, folder, lock.hash)))
      copied += 1
    }
  }
  if (await layOwnInstalls(request)) return result('copied', 'packages of an install before an earlier agent')
  if (folders.length === 0) return result('none', 'the checkout has no installed packages')
  if (copied === 0) return result('skipped', notes.join('; '))
  return result('copied', `${copied} of ${folders.length} package folders copied`)
}

/** Returns the pool trees of a workspace that is no longer needed. `keepIn`: folder for copies of changed files. */
export const returnDependencies = async (workspace: string, keepIn?: string): Promise<void> => {
  const given = await readTrees(workspace)
  if (given === undefined) return
  for (const { folder, key } of given.trees) {
    const inside = join(folder, 'node_modules')
    const kind = poolKindOf(given.cacheDir, key)
    // Skipped: a symlink that an agent put in the path, which could lead anywhere, and a kind that was removed meanwhile.
    const isOurs = (await lstatInside(workspace, inside))?.isDirectory() === true
    if (!isOurs || !(await isFolder(kind.dir))) continue
    await returnTree(kind, join(workspace, inside), keepIn === undefined ? {} : { keepIn: join(keepIn, folder) })
  }
  await removeFolder(treesFile(workspace))
}
