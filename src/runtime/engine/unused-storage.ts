/**
 * What the state folder keeps only to be faster next time: copies of installed packages, trees of workspaces, and the caches of checks. It goes without a loss,
 * but not while a run may be reading it.
 */
import { join } from 'node:path'
import { listRuns } from '../../store/run.ts'
import { checkCaches, treePool, type Context } from '../core/context.ts'

export interface UnusedStorage {
  kind: 'package store' | 'tree' | 'caches'
  id: string
  folder: string
  bytes: number
  usedAt: Date
}

export const packageStore = ({ stateDir }: Pick<Context, 'stateDir'>): string => join(stateDir, 'dependencies')

/** One folder for each kind of package tree; each use of the kind touches it. */
const packageFolders = (context: Context): { id: string; folder: string }[] => {
  const { files } = context.ports
  const root = packageStore(context)
  const names = files.existsSync(root) ? files.readdirSync(root).filter((name) => /^[0-9a-f]{32}$/.test(name)) : []
  return names.map((id) => ({ id, folder: join(root, id) }))
}

/** Trees that the next workspace starts from. */
const readyTrees = (context: Context): { id: string; folder: string }[] => {
  const { files } = context.ports
  const ready = join(treePool(context), 'ready')
  return (files.existsSync(ready) ? files.readdirSync(ready) : []).map((id) => ({ id, folder: join(ready, id) }))
}

/** The longest unused first; empty while a run works. */
export const unusedStorage = async (context: Context): Promise<UnusedStorage[]> => {
  const { files, git } = context.ports
  if ((await listRuns(context.db, { state: 'running' })).length > 0) return []
  const caches = checkCaches(context)
  const found = [
    ...packageFolders(context).map((place) => ({ kind: 'package store' as const, ...place })),
    ...readyTrees(context).map((place) => ({ kind: 'tree' as const, ...place })),
    ...(files.existsSync(caches) ? [{ kind: 'caches' as const, id: 'of checks', folder: caches }] : []),
  ]
  const all: UnusedStorage[] = []
  for (const place of found) {
    const usedAt = new Date(files.statSync(place.folder).mtimeMs)
    all.push({ ...place, usedAt, bytes: await git.bytesOf(place.folder) })
  }
  return all.sort((one, other) => one.usedAt.getTime() - other.usedAt.getTime())
}
