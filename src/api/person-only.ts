/**
 * Refuses what only a person may do when it is asked for by a program that a run started. The token proves nothing here: an agent
 * without a sandbox can read its file. What counts is the process at the other end of the connection and its parents.
 */
import type { Run } from '../domain/run.ts'
import { AppError } from '../errors.ts'
import { markOf } from '../platform/mark.ts'
import { inspectPeer, type End } from '../platform/peer.ts'
import { programNameOf } from '../platform/process.ts'
import { foreignSigns, type Sign } from '../platform/started-by.ts'
import { markerName } from '../process/find.ts'
import type { Context } from '../runtime/core/context.ts'
import { appendEvent } from '../store/event.ts'
import { getRun, listRuns } from '../store/run.ts'

/** Both ends of the accepted connection. */
export interface Ends {
  ours: End
  theirs: End
}

interface Caller {
  /** What is told about it. */
  program: string
  /** Of it and its parents, nearest first. Empty = it has hung up, so nothing is known of it. */
  signs: Sign[]
}

const callerIn = (pids: readonly number[]): Caller | undefined =>
  pids
    .map((pid) => ({
      program: programNameOf(pid) || `process ${pid}`,
      signs: foreignSigns(pid, process.pid, markerName),
    }))
    .find(({ signs }) => signs.length > 0)

/** The program of a run at the other end; undefined = nothing shows that there is one. */
const callerAt = (ends: Ends | undefined): Caller | undefined => {
  if (ends === undefined) return undefined
  const found = inspectPeer(ends, callerIn)
  return found === 'gone' ? { program: 'a program that hung up at once', signs: [] } : found
}

const hasMark = ({ launches }: Run, mark: string): boolean =>
  launches.some(({ shim }) => shim !== null && markOf(shim) === mark)

/** By its marker; where that was removed, by the shim that left the inherited mark. */
const runOf = async ({ db }: Context, signs: readonly Sign[]): Promise<Run | undefined> => {
  for (const { marker, mark } of signs) {
    const id = /^r-[a-z0-9]+/.exec(marker ?? '')?.[0]
    const named = id === undefined ? undefined : await getRun(db, id)
    if (named !== undefined) return named
    const running = mark === undefined ? [] : await listRuns(db, { state: 'running' })
    const started = running.find((run) => mark !== undefined && hasMark(run, mark))
    if (started !== undefined) return started
  }
  return undefined
}

const mostTold = 10_000

/** Each door of each run is reported once: an agent that tries for ever must not fill the store. */
const createReport = (context: Context) => {
  const told = new Set<string>()
  return async (door: string, { program, signs }: Caller): Promise<void> => {
    const run = await runOf(context, signs)
    const key = `${run?.id ?? program} ${door}`
    if (told.has(key) || told.size >= mostTold) return
    told.add(key)
    await appendEvent(context.db, {
      type: 'person_only.refused',
      ...(run === undefined ? {} : { goalId: run.goalId, taskId: run.taskId, runId: run.id }),
      payload: { door, program, ...(signs.length === 0 ? { hungUp: true } : {}) },
    })
  }
}

export interface PersonOnly {
  /** Throws FROM_A_RUN, after it was reported, if a run asks. */
  check(door: string, ends: Ends | undefined): Promise<void>
  /** Reports what the command line refused to a program of a run; false = the caller is none. */
  report(door: string, ends: Ends | undefined): Promise<boolean>
}

export const createPersonOnly = (context: Context): PersonOnly => {
  const tell = createReport(context)
  return {
    check: async (door, ends) => {
      const caller = callerAt(ends)
      if (caller === undefined) return
      const hungUp = caller.signs.length === 0
      // Hanging up is no evidence where no run could have sent the request.
      if (hungUp && (await listRuns(context.db, { state: 'running' })).length === 0) return
      await tell(door, caller)
      const why = hungUp
        ? 'the caller hung up before it could be told from an agent'
        : `${caller.program} was started by an agent`
      throw new AppError(
        'FROM_A_RUN',
        `only a person may do this (${door}), and ${why}; nothing was changed. Do it in a terminal that no agent started, or in the dashboard`,
      )
    },
    report: async (door, ends) => {
      const caller = callerAt(ends)
      if (caller === undefined || caller.signs.length === 0) return false
      await tell(door, caller)
      return true
    },
  }
}
