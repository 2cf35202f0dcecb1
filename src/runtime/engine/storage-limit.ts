/**
 * A job of the leader: keeps the state folder within `storage.maxGb`, and gives space back while the disk is nearly full. First goes what
 * `unstuck clean` would remove, then what is only there to be faster, the longest unused first. One event says what went.
 */
import { appendEvent } from '../../store/event.ts'
import type { Context } from '../core/context.ts'
import { removeUnneeded, type RemovedArtifact } from './retention.ts'
import { unusedStorage } from './unused-storage.ts'

const gigabyte = 1e9
const megabyte = 1024 ** 2

/** Measuring reads the whole folder. */
const everySeconds = 3600

/** A disk counts as nearly full before it is so full that no run starts. */
const roomFactor = 2

interface Shortage {
  /** How many bytes have to go. */
  bytes: number
  why: string
}

const beyondLimit = async ({ ports, stateDir, config }: Context): Promise<Shortage | undefined> => {
  const { maxGb } = config().storage
  if (maxGb === -1) return undefined
  const bytes = (await ports.git.bytesOf(stateDir)) - maxGb * gigabyte
  return bytes > 0 ? { bytes, why: `the state folder used more than storage.maxGb (${maxGb} GB)` } : undefined
}

const lackOfRoom = ({ machine, stateDir, config }: Context): Shortage | undefined => {
  const freeMb = machine?.room(stateDir)?.freeMb
  const wantedMb = config().admission.minFreeDiskMb * roomFactor
  if (freeMb === undefined || freeMb >= wantedMb) return undefined
  return { bytes: (wantedMb - freeMb) * megabyte, why: `the disk had ${Math.floor(freeMb)} MB free` }
}

const sumOf = (removed: readonly RemovedArtifact[]): number =>
  removed.reduce((sum, { bytes = 0, problem }) => sum + (problem === undefined ? bytes : 0), 0)

/** What goes for its age alone. */
const keptMs = 14 * 24 * 3600 * 1000

const makeRoom = async (context: Context, bytes: number): Promise<RemovedArtifact[]> => {
  const removed = bytes > 0 ? await removeUnneeded(context, false) : []
  let missing = bytes - sumOf(removed)
  for (const { kind, id, folder, bytes: size, usedAt } of await unusedStorage(context)) {
    const isOld = context.clock.now().getTime() - usedAt.getTime() > keptMs
    if (missing <= 0 && !isOld) break
    await context.ports.git.removeWorkspace(folder)
    removed.push({ kind, id, reason: isOld ? 'no run used it for 14 days' : 'no run uses it', bytes: size })
    missing -= size
  }
  return removed
}

const nothing: Shortage = { bytes: 0, why: 'no run used them for 14 days' }

export const limitStorage = async (context: Context): Promise<number> => {
  const { bytes, why } = lackOfRoom(context) ?? (await beyondLimit(context)) ?? nothing
  const removed = await makeRoom(context, bytes)
  const freed = sumOf(removed)
  if (removed.length > 0) {
    const kinds = [...new Set(removed.map(({ kind }) => kind))]
    const payload = { why, freed, left: Math.max(0, Math.round(bytes - freed)), kinds }
    await appendEvent(context.db, { type: 'storage.freed', payload })
  } else if (bytes > 0)
    context.log.warn({ bytes, why }, 'everything in the state folder is needed, so nothing was removed')
  return everySeconds
}
