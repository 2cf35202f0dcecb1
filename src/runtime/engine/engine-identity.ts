/** Identifies this engine to the others: an id that stays with its state folder, its roles and its harnesses. */
import { join } from 'node:path'
import { z } from 'zod'
import type { EngineRole } from '../../domain/engine.ts'
import type { ProcessIdentity } from '../../platform/process.ts'
import { AppError } from '../../errors.ts'
import { listEngines, type NewEngine } from '../../store/engine.ts'
import { storeNow } from '../../store/event.ts'
import type { Context } from '../core/context.ts'
import { readStateFile, writeStateFile } from '../core/files.ts'
import { harnessesHere } from '../harness/harness-choice.ts'

/** A state folder that was copied to another host gets a new id there: two engines must not share one. */
const idOf = (context: Context): string => {
  const { files } = context.ports
  const path = join(context.stateDir, 'engine-id.json')
  const known = readStateFile(context, path, z.object({ id: z.string().min(1), host: z.string() }))
  if (known !== undefined && known.host === context.host) return known.id
  const id = context.newId('e')
  files.mkdirSync(context.stateDir, { recursive: true, mode: 0o700 })
  writeStateFile(files, path, JSON.stringify({ id, host: context.host }))
  return id
}

export const identifyEngine = (
  context: Context,
  roles: readonly EngineRole[],
  identity: ProcessIdentity,
): NewEngine => ({
  id: idOf(context),
  host: context.host,
  bootId: identity.bootId,
  pid: identity.pid,
  startTime: identity.startTime,
  roles: [...roles],
  harnesses: harnessesHere(context),
  labels: [process.platform, process.arch],
  ttlSeconds: context.config().lease.ttlSeconds,
})

/** Ids of this engine's slots; an engine without the executor role has none. */
export const agentIdsOf = (self: NewEngine, slots: number): string[] =>
  self.roles.includes('executor') ? Array.from({ length: slots }, (_value, index) => `${self.id}-${index + 1}`) : []

/**
 * Refuses to start if an engine on another host works on a folder of the same name with the same database. The same
 * path on two hosts may be two repositories, and both would use the same schema; only a repository given by URL is the
 * same everywhere.
 */
export const refuseSharedFolder = async (context: Context): Promise<void> => {
  if (context.db.isLeader === undefined || context.repository.url !== undefined) return
  const now = await storeNow(context.db)
  const other = (await listEngines(context.db)).find(
    ({ host, state, heartbeatAt, ttlSeconds }) =>
      host !== context.host && state !== 'offline' && now.getTime() - heartbeatAt.getTime() <= ttlSeconds * 1000,
  )
  if (other === undefined) return
  throw new AppError(
    'STORE_LOCKED',
    `an engine on host ${other.host} uses this database for a folder of the same path; to share a repository between hosts, start every engine with --repo <url>, or stop that engine first`,
  )
}
