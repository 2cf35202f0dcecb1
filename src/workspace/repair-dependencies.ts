/**
 * Repairs installed packages before a run continues in a workspace after a crash or a kill. Damaged packages are moved aside and
 * restored from the cache, or left out so that an install can provide them. What was moved aside is kept with the run, because
 * an agent may have edited it.
 */
import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { removeFolder } from './remove-folder.ts'
import { prepareDependencies, type Preparation, type PreparationRequest } from './dependencies.ts'
import { inspectInstalled } from './installed.ts'

export interface RepairRequest extends PreparationRequest {
  /** Folder for the damaged trees, on the file system of the workspace. */
  asideDir: string
}

export interface RepairResult {
  /** The damage by folder and package; empty = none. */
  damage: string[]
  restored: Preparation['kind']
}

interface Damaged {
  folder: string
  damage: string[]
}

/** Only trees of Node, because no other packages are prepared, so no others could be restored. */
const damagedBelow = async (root: string, beside: string): Promise<Damaged[]> => {
  const { trees } = await inspectInstalled(root, { of: 'node', beside })
  return trees.filter(({ damage }) => damage.length > 0)
}

const moveAside = async (request: RepairRequest, damaged: readonly Damaged[]): Promise<void> => {
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

/** Restores missing trees. */
const restoreTrees = async (request: RepairRequest): Promise<Preparation['kind']> => {
  const laid = await prepareDependencies(request)
  const still = await damagedBelow(request.workspace, request.repository.root)
  if (still.length === 0) return laid.kind
  // The cache is damaged as well, so copy from the checkout. Damage of the checkout itself cannot be repaired here.
  await removeTrees(request.workspace, still)
  const again = await prepareDependencies({ ...request, anew: true })
  const left = await damagedBelow(request.workspace, request.repository.root)
  await removeTrees(request.workspace, left)
  return left.length === 0 ? again.kind : 'skipped'
}

export const repairDependencies = async (request: RepairRequest): Promise<RepairResult> => {
  const damaged = await damagedBelow(request.workspace, request.repository.root)
  // An earlier repair may have crashed between moving aside and restoring.
  if (damaged.length === 0) return { damage: [], restored: (await prepareDependencies(request)).kind }
  await moveAside(request, damaged)
  const laid = await restoreTrees(request)
  const damage = damaged.flatMap((tree) => tree.damage.map((text) => join(tree.folder, 'node_modules') + `: ${text}`))
  return { damage, restored: laid }
}
