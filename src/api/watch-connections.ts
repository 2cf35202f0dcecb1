/**
 * Ends connections to the embedded server that are not ours, and reports them: a program of the same user can read the password of the store
 * as it can read the token. A connection is ours if this engine opened it, or if it has a name like ours and no program of a run is at its
 * other end. SECURITY.md says what this cannot prevent.
 */
import { markerName } from '../process/find.ts'
import { programNameOf } from '../platform/process.ts'
import { foreignSigns } from '../platform/started-by.ts'
import { unixPeersOf } from '../platform/unix-peer.ts'
import type { Context } from '../runtime/core/context.ts'
import { clientConnections, endConnection, type Connection } from '../store/connections.ts'
import { appendEvent } from '../store/event.ts'

const everyMs = 5_000

const keyOf = ({ pid, since }: Connection): string => `${pid} ${since}`

const hasOurName = ({ name }: Connection): boolean => /^unstuck-[0-9a-f]{12}-\d+$/.test(name)

interface Stranger {
  connection: Connection
  /** The program at the other end, where it is known. */
  program: string
}

const programOf = (pids: readonly number[]): string =>
  pids.map((pid) => programNameOf(pid) || `process ${pid}`).join(', ')

/** Connections that this engine did not open and has not found harmless before. */
const strangersAmong = async (unknown: readonly Connection[]): Promise<Stranger[]> => {
  if (unknown.length === 0) return []
  const peers = await unixPeersOf(new Set(unknown.map(({ pid }) => pid)))
  return unknown.flatMap((connection) => {
    const pids = peers?.get(connection.pid) ?? []
    const isOfRun = pids.some((pid) => foreignSigns(pid, process.pid, markerName).length > 0)
    return hasOurName(connection) && !isOfRun ? [] : [{ connection, program: programOf(pids) }]
  })
}

const mostReported = 10

/** One event for all: a program that connects again and again must not fill the store. */
const report = async ({ db, log }: Context, strangers: readonly Stranger[]): Promise<void> => {
  const connections = strangers
    .slice(0, mostReported)
    .map(({ connection: { name }, program }) => ({ name: name.slice(0, 100), program }))
  const payload = { count: strangers.length, connections }
  log.warn(payload, 'connections to the store that are not ours were ended')
  await appendEvent(db, { type: 'store.connection_ended', payload })
}

/** Looks once; returns the keys of the connections that are known now. */
const checkConnections = async (context: Context, known: ReadonlySet<string>): Promise<Set<string>> => {
  const { db } = context
  const own = db.backends?.() ?? new Set<number>()
  const all = (await clientConnections(db)).filter(({ pid }) => !own.has(pid))
  const strangers = await strangersAmong(all.filter((one) => !known.has(keyOf(one))))
  for (const { connection } of strangers) await endConnection(db, connection)
  if (strangers.length > 0) await report(context, strangers)
  return new Set(all.map(keyOf))
}

/** Does nothing on a server that other people and programs use. */
export const watchConnections = async (context: Context): Promise<void> => {
  if (context.db.backends === undefined) return
  let known = new Set<string>()
  while (!context.stopping.aborted) {
    // Whoever needs the server reports that it does not respond.
    known = await checkConnections(context, known).catch(() => known)
    await context.clock.wait(everyMs, context.stopping)
  }
}
