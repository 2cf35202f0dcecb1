/**
 * Refuses what only a person may do when it is asked for by a program that a run started. The token proves nothing here: an agent
 * without a sandbox can read its file. What counts is the process at the other end of the connection and its parents: over the Unix socket
 * the kernel names it; over TCP it is searched, and a session that a person began is needed as well.
 */
import type { Run } from '../domain/run.ts'
import { AppError } from '../errors.ts'
import { markOf } from '../platform/mark.ts'
import { inspectPeer, type End } from '../platform/peer.ts'
import { processTable, programNameOf } from '../platform/process.ts'
import { isStillThere, tracersOf, type SocketPeer } from '../platform/socket-peer.ts'
import { foreignSigns, type Sign } from '../platform/started-by.ts'
import { markerName, runIdIn } from '../process/find.ts'
import type { Context } from '../runtime/core/context.ts'
import { appendEvent } from '../store/event.ts'
import { getRun, listRuns } from '../store/run.ts'

/** How a request came in. */
export type Door =
  /** Over the Unix socket: the process that connected it. */
  | { peer: SocketPeer }
  /** Over TCP: both ends of the accepted connection. */
  | { ours: End; theirs: End }

interface Caller {
  /** Its name, as it is reported. */
  program: string
  /** Of it and its parents, nearest first. Empty = nothing is known of it. */
  signs: Sign[]
  /** Why nothing is known, or that it is only one of the programs that may be the caller. */
  doubt?: 'hung up' | 'suspected' | 'hidden' | 'other user'
}

const signsOfPid = (pid: number): Sign[] =>
  [pid, ...tracersOf(pid)].flatMap((each) => foreignSigns(each, process.pid, markerName))

const callerIn = (pids: readonly number[]): Caller | undefined =>
  pids
    .map((pid) => ({ program: programNameOf(pid) || `process ${pid}`, signs: signsOfPid(pid) }))
    .find(({ signs }) => signs.length > 0)

const hungUp: Caller = { program: 'a program that hung up at once', signs: [], doubt: 'hung up' }
const hidden: Caller = { program: 'a program that hides', signs: [], doubt: 'hidden' }

/** The kernel names the process, so that nothing has to be searched; what it cannot name any more proves nobody. */
const callerAtSocket = (peer: SocketPeer): Caller | undefined => {
  if (peer.identity === undefined) return hungUp
  const { user } = peer
  if (user !== undefined && user !== 0 && user !== process.getuid?.())
    return { program: `a program of user ${user}`, signs: [], doubt: 'other user' }
  const caller = callerIn([peer.identity.pid])
  return caller ?? (isStillThere(peer) ? undefined : hungUp)
}

const callerAtPort = (ends: { ours: End; theirs: End }): Caller | undefined => {
  const found = inspectPeer(ends, (pids, isHidden): Caller | undefined => {
    const caller = callerIn(pids)
    if (!isHidden) return caller
    return caller === undefined ? hidden : { ...caller, doubt: 'suspected' }
  })
  return found === 'gone' ? hungUp : found
}

/** The program of a run at the other end, or one that cannot be told from it; undefined = it is none. */
const callerAt = (door: Door | undefined): Caller | undefined => {
  if (door === undefined) return undefined
  return 'peer' in door ? callerAtSocket(door.peer) : callerAtPort(door)
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

/** Records a refusal. A caller that is not known to be a program of a run has no signs. */
type Report = (action: string, caller: Caller) => Promise<void>

/** Each action of each run is reported once: an agent that tries for ever must not fill the store. */
export const reportTo = (context: Context): Report => {
  const reported = new Set<string>()
  return async (action, { program, signs }) => {
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

/** The option of `unstuck up` that lets callers in which cannot be found. */
const allowHidden = '--allow-hidden-callers'

/** Why the caller is taken for an agent, and what a person can do who was taken for one. */
export const callerRefusal = ({
  program,
  doubt = 'none',
}: {
  program: string
  doubt?: Caller['doubt'] | 'none'
}): { why: string; advice: string } => {
  const advice = 'Do it in a terminal that no agent started'
  switch (doubt) {
    case 'hung up':
      return { why: 'the caller hung up before it could be told from an agent', advice }
    case 'other user':
      return { why: `${program} asked, which is not the owner of this engine`, advice: 'Do it as the owner' }
    case 'hidden':
      return {
        why: 'no process can be found at the other end of the connection (as with one that ssh forwards), while programs of agents are running',
        advice: `Use the command line of unstuck on this machine, or start the engine with "unstuck up ${allowHidden}"`,
      }
    case 'suspected':
      return {
        why: `the caller hides which program it is (as a connection that ssh forwards does), and so does ${program}, which was started by an agent`,
        advice: `${advice}, on this machine without forwarding, or when that agent has ended`,
      }
    case 'none':
      return { why: `${program} was started by an agent`, advice }
  }
}

/** Whether a program that a run started is alive, also of a run that has ended. */
const agentIsAlive = (): boolean =>
  processTable().some(({ pid }) => pid !== process.pid && foreignSigns(pid, process.pid, markerName).length > 0)

export interface Asked {
  action: string
  door: Door | undefined
  /** The secret is the session of a browser. */
  isSession: boolean
  /** Served without any secret: a login, or a signed link. */
  isOpen: boolean
  /** Only over the Unix socket, like a login code, from which sessions come. */
  needsSocket: boolean
}

export interface PersonOnly {
  /** Throws FROM_A_RUN, after it was reported, if a run asks, and NOT_PROVED if nothing shows that a person does. */
  check(asked: Asked): Promise<void>
  /** Reports what the command line refused to a program of a run. A caller that is none is not recorded. */
  report(action: string, door: Door | undefined): Promise<void>
}

export interface PersonOnlyOptions {
  /** Where the engine listens for those whom the kernel names; undefined = it cannot. */
  socket: string | undefined
  allowHiddenCallers: boolean
  /** Whether a run is in progress in any repository of this process. */
  runsLive: () => Promise<boolean>
  report: Report
}

export const hasLiveRuns = async ({ db }: Pick<Context, 'db'>): Promise<boolean> =>
  (await listRuns(db, { state: 'running' })).length > 0

export const createPersonOnly = (options: PersonOnlyOptions): PersonOnly => {
  const { socket, allowHiddenCallers, runsLive, report } = options
  /** Whether what is not known of a caller counts as innocence. */
  const isExcused = async ({ doubt }: Caller, door: Door | undefined): Promise<boolean> => {
    // Over the Unix socket every honest caller waits for its answer, and the kernel knows it.
    if (door === undefined || 'peer' in door || doubt === undefined || doubt === 'other user') return false
    if (doubt === 'hung up') return !(await runsLive())
    return allowHiddenCallers || (doubt === 'hidden' && !(await runsLive()) && !agentIsAlive())
  }
  const checkProof = ({ action, door, isSession, isOpen, needsSocket }: Asked): void => {
    if (door === undefined || 'peer' in door || socket === undefined || isOpen) return
    if (isSession && !needsSocket) return
    throw new AppError(
      'NOT_PROVED',
      `only a person may do this (${action}), and a secret alone shows no person, because agents could have read it; nothing was changed. Use the command line of unstuck, a browser with "unstuck login-url", or a client of the Unix socket ${socket}`,
    )
  }
  return {
    check: async (asked) => {
      const { action, door } = asked
      const caller = callerAt(door)
      if (caller !== undefined && !(await isExcused(caller, door))) {
        await report(action, caller)
        const { why, advice } = callerRefusal(caller)
        throw new AppError(
          'FROM_A_RUN',
          `only a person may do this (${action}), and ${why}; nothing was changed. ${advice}`,
        )
      }
      checkProof(asked)
    },
    report: async (action, door) => {
      const caller = callerAt(door)
      if (caller !== undefined && caller.signs.length > 0) await report(action, caller)
    },
  }
}
