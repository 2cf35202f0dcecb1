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
import { markerName, runIdIn } from '../process/find.ts'
import type { Context } from '../runtime/core/context.ts'
import { appendEvent } from '../store/event.ts'
import { getRun, listRuns } from '../store/run.ts'

/** Both ends of the accepted connection. */
export interface Ends {
  ours: End
  theirs: End
}

interface Caller {
  /** Its name, as it is reported. */
  program: string
  /** Of it and its parents, nearest first. Empty = it has hung up, so nothing is known of it. */
  signs: Sign[]
  /** It is only one of the programs that may be the caller. */
  suspected?: true
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
  const found = inspectPeer(ends, (pids, isHidden) => {
    const caller = callerIn(pids)
    return caller && isHidden ? { ...caller, suspected: true as const } : caller
  })
  return found === 'gone' ? { program: 'a program that hung up at once', signs: [] } : found
}

const hasMark = ({ launches }: Run, mark: string): boolean =>
  launches.some(({ shim }) => shim !== null && markOf(shim) === mark)

/** By its marker; where that was removed, by the shim that left the inherited mark. */
const runOf = async ({ db }: Context, signs: readonly Sign[]): Promise<Run | undefined> => {
  for (const { marker, mark } of signs) {
    const id = runIdIn(marker)
    const named = id === undefined ? undefined : await getRun(db, id)
    if (named !== undefined) return named
    const running = mark === undefined ? [] : await listRuns(db, { state: 'running' })
    const started = running.find((run) => mark !== undefined && hasMark(run, mark))
    if (started !== undefined) return started
  }
  return undefined
}

const mostReported = 10_000

/** Each action of each run is reported once: an agent that tries for ever must not fill the store. */
const createReport = (context: Context) => {
  const reported = new Set<string>()
  return async (action: string, { program, signs }: Caller): Promise<void> => {
    const run = await runOf(context, signs)
    const key = `${run?.id ?? program} ${action}`
    if (reported.has(key) || reported.size >= mostReported) return
    reported.add(key)
    await appendEvent(context.db, {
      type: 'person_only.refused',
      ...(run === undefined ? {} : { goalId: run.goalId, taskId: run.taskId, runId: run.id }),
      payload: { action, program, ...(signs.length === 0 ? { hungUp: true } : {}) },
    })
  }
}

/** Why the caller is taken for an agent, and what a person can do who was taken for one. */
export const callerRefusal = ({ program, signs, suspected }: Caller): { why: string; advice: string } => {
  const advice = 'Do it in a terminal that no agent started'
  if (signs.length === 0) return { why: 'the caller hung up before it could be told from an agent', advice }
  if (suspected !== true) return { why: `${program} was started by an agent`, advice }
  return {
    why: `the caller hides which program it is (as a connection that ssh forwards does), and so does ${program}, which was started by an agent`,
    advice: `${advice}, on this machine without forwarding, or when that agent has ended`,
  }
}

export interface PersonOnly {
  /** Throws FROM_A_RUN, after it was reported, if a run asks. */
  check(action: string, ends: Ends | undefined): Promise<void>
  /** Reports what the command line refused to a program of a run. A caller that is none is not recorded. */
  report(action: string, ends: Ends | undefined): Promise<void>
}

export const createPersonOnly = (context: Context): PersonOnly => {
  const report = createReport(context)
  return {
    check: async (action, ends) => {
      const caller = callerAt(ends)
      if (caller === undefined) return
      // Hanging up is no evidence where no run could have sent the request.
      if (caller.signs.length === 0 && (await listRuns(context.db, { state: 'running' })).length === 0) return
      await report(action, caller)
      const { why, advice } = callerRefusal(caller)
      throw new AppError(
        'FROM_A_RUN',
        `only a person may do this (${action}), and ${why}; nothing was changed. ${advice}`,
      )
    },
    report: async (action, ends) => {
      const caller = callerAt(ends)
      if (caller !== undefined && caller.signs.length > 0) await report(action, caller)
    },
  }
}
