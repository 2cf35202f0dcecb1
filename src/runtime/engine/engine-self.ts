/** Who this engine is to the others: an id that stays with its state folder, and what can be done here. */
import { join } from 'node:path'
import type { EngineRole } from '../../domain/engine.ts'
import type { ProcessIdentity } from '../../platform/process.ts'
import { AppError } from '../../errors.ts'
import { listEngines, type NewEngine } from '../../store/engine.ts'
import { storeNow } from '../../store/event.ts'
import type { Context } from '../core/context.ts'
import { harnessesHere } from '../harness/harness-choice.ts'

/** A folder that was copied to another host belongs to another engine there. */
const idOf = (context: Context): string => {
  const { files } = context.ports
  const path = join(context.stateDir, 'engine-id.json')
  const known = files.existsSync(path)
    ? (JSON.parse(files.readFileSync(path, 'utf8')) as { id: string; host: string })
    : undefined
  if (known !== undefined && known.host === context.host) return known.id
  const id = context.newId('e')
  files.mkdirSync(context.stateDir, { recursive: true, mode: 0o700 })
  files.writeFileSync(path, JSON.stringify({ id, host: context.host }), { mode: 0o600 })
  return id
}

export const selfOf = (context: Context, roles: readonly EngineRole[], identity: ProcessIdentity): NewEngine => ({
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

/** Slots of this engine; a control engine has none. */
export const agentIdsOf = (self: NewEngine, slots: number): string[] =>
  self.roles.includes('executor') ? Array.from({ length: slots }, (_value, index) => `${self.id}-${index + 1}`) : []

/**
 * A folder is one repository on one host. The same path on another host names the same part of a database and may be
 * something else altogether; only a repository by URL is the same everywhere.
 */
export const checkNeighbours = async (context: Context): Promise<void> => {
  if (context.db.leads === undefined || context.repository.url !== undefined) return
  const now = await storeNow(context.db)
  const stranger = (await listEngines(context.db)).find(
    ({ host, state, heartbeatAt, ttlSeconds }) =>
      host !== context.host && state !== 'offline' && now.getTime() - heartbeatAt.getTime() <= ttlSeconds * 1000,
  )
  if (stranger === undefined) return
  throw new AppError(
    'STORE_LOCKED',
    `an engine on host ${stranger.host} works on a folder of this name with this database; engines on several hosts share a repository by URL: start them with --repo <url>, or stop that one first`,
  )
}
