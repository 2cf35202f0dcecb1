/**
 * Before a run goes on in a workspace that a crash or a kill may have left half-written: installed packages that are damaged
 * are put aside and laid again from the cache, or left out, so that an install can bring them. What is put aside is kept with
 * the run, because an agent may have written into it.
 */
import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { removeFolder } from './remove-folder.ts'
import { prepareDependencies, type Preparation, type PreparationRequest } from './dependencies.ts'
import { inspectInstalled } from './installed.ts'

export interface MendRequest extends PreparationRequest {
  /** Takes the damaged trees; on the file system of the workspace. */
  asideDir: string
}

export interface Mended {
  /** What was found, by folder and package; empty = everything is whole. */
  damage: string[]
  laid: Preparation['kind']
}

interface Damaged {
  folder: string
  damage: string[]
}

/** Trees of Node alone: no others are prepared, so nothing could be laid in their place. */
const damagedBelow = async (root: string, beside: string): Promise<Damaged[]> => {
  const { trees } = await inspectInstalled(root, { of: 'node', beside })
  return trees.filter(({ damage }) => damage.length > 0)
}

const putAside = async (request: MendRequest, damaged: readonly Damaged[]): Promise<void> => {
  await mkdir(request.asideDir, { recursive: true, mode: 0o700 })
  let number = (await readdir(request.asideDir)).length
  for (const { folder } of damaged) {
    number += 1
    await rename(join(request.workspace, folder, 'node_modules'), join(request.asideDir, String(number)))
  }
}

const removeTrees = async (workspace: string, damaged: readonly Damaged[]): Promise<void> => {
  for (const { folder } of damaged) await removeFolder(join(workspace, folder, 'node_modules'))
}

/** Lays again what is not there. */
const layAgain = async (request: MendRequest): Promise<Preparation['kind']> => {
  const laid = await prepareDependencies(request)
  const still = await damagedBelow(request.workspace, request.repository.root)
  if (still.length === 0) return laid.kind
  // The cache is damaged as well: once more from the checkout itself, whose own damage nothing here can mend.
  await removeTrees(request.workspace, still)
  const again = await prepareDependencies({ ...request, anew: true })
  const left = await damagedBelow(request.workspace, request.repository.root)
  await removeTrees(request.workspace, left)
  return left.length === 0 ? again.kind : 'skipped'
}

export const mendDependencies = async (request: MendRequest): Promise<Mended> => {
  const damaged = await damagedBelow(request.workspace, request.repository.root)
  // What a crash put aside and did not lay again is laid now.
  if (damaged.length === 0) return { damage: [], laid: (await prepareDependencies(request)).kind }
  await putAside(request, damaged)
  const laid = await layAgain(request)
  const damage = damaged.flatMap((tree) => tree.damage.map((text) => join(tree.folder, 'node_modules') + `: ${text}`))
  return { damage, laid }
}
