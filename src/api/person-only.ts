/**
 * Refuses what only a person may do when it is asked for by a program that a run started. The token proves nothing here: an agent
 * without a sandbox can read its file. What counts is the process at the other end of the connection and its parents.
 */
import { AppError } from '../errors.ts'
import { peerOf } from '../platform/peer.ts'
import { programNameOf } from '../platform/process.ts'
import { foreignSigns, type Sign } from '../platform/started-by.ts'
import { markerName } from '../process/find.ts'
import type { Context } from '../runtime/core/context.ts'
import { appendEvent } from '../store/event.ts'
import { getRun, listRuns } from '../store/run.ts'

export interface Ends {
  /** Ports of the accepted connection: ours and the caller's. */
  localPort?: number | undefined
  remotePort?: number | undefined
}

interface Caller {
  /** What is told about it. */
  program: string
  /** The marker of its run, if it has kept it. */
  marker?: string | undefined
  /** It has ended or hung up, so nothing is known of it. */
  closed?: boolean
}

const nearest = (pids: readonly number[]): { pid: number; signs: Sign[] } | undefined =>
  pids.map((pid) => ({ pid, signs: foreignSigns(pid, process.pid, markerName) })).find(({ signs }) => signs.length > 0)

const callerIn = (pids: readonly number[]): Caller | undefined => {
  const found = nearest(pids)
  if (found === undefined) return undefined
  const marker = found.signs.find((sign) => sign.marker !== undefined)?.marker
  return { program: programNameOf(found.pid) || `process ${found.pid}`, marker }
}

/** The program of a run at the other end; undefined = nothing shows that there is one. */
const runAt = ({ localPort, remotePort }: Ends): Caller | undefined => {
  if (localPort === undefined || remotePort === undefined) return undefined
  const peer = peerOf(localPort, remotePort)
  if (peer.kind === 'processes') return callerIn(peer.pids)
  if (peer.kind === 'hidden') return callerIn(peer.suspects)
  return peer.kind === 'gone' ? { program: 'a program that has closed its connection', closed: true } : undefined
}

/** Each door of each run is reported once: an agent that tries for ever must not fill the store. */
const createReport = (context: Context) => {
  const told = new Set<string>()
  return async (door: string, { program, marker }: Caller): Promise<void> => {
    const key = `${marker ?? program} ${door}`
    if (told.has(key) || told.size > 10_000) return
    told.add(key)
    const run = marker === undefined ? undefined : await getRun(context.db, marker)
    await appendEvent(context.db, {
      type: 'person_only.refused',
      ...(run === undefined ? {} : { goalId: run.goalId, taskId: run.taskId, runId: run.id }),
      payload: { door, program },
    })
  }
}

/** Throws FROM_A_RUN, after it was reported, if a run asks. */
export const personOnly = (context: Context) => {
  const report = createReport(context)
  return async (door: string, ends: Ends): Promise<void> => {
    const caller = runAt(ends)
    if (caller === undefined) return
    // A closed connection is no evidence where no run could have sent the request.
    if (caller.closed === true && (await listRuns(context.db, { state: 'running' })).length === 0) return
    await report(door, caller)
    throw new AppError(
      'FROM_A_RUN',
      `only a person may do this (${door}), and ${caller.closed === true ? 'the caller hung up before it could be told from an agent' : `${caller.program} was started by an agent`}; nothing was changed. Do it in a terminal of your own`,
    )
  }
}
