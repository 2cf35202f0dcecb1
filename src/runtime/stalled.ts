/**
 * What an agent that was stopped for standing still left behind. Made from the cause in its exit record, its output and its
 * workspace, so that an engine that comes back finds the same.
 */
import { lastLaunch } from '../domain/run.ts'
import type { Reading } from '../harness/driver.ts'
import type { StopCause } from '../process/contract.ts'
import type { ObservedStall } from '../recovery/evidence.ts'
import { loopOf, mostFrequent } from '../recovery/doom-loop.ts'
import { stallKinds, type StallKind } from '../recovery/stall.ts'
import { collectNow } from './collected.ts'
import { loopLimits } from './loop-watch.ts'
import { workTreeOf, type Session } from './session.ts'
import { stallLimits } from './stall-watch.ts'

export const isStall = (cause: StopCause | undefined): cause is ObservedStall['kind'] =>
  cause === 'doom_loop' || stallKinds.some((kind) => kind === cause)

const openCallOf = (reading: Reading): string | undefined => {
  const call = reading.openCalls.at(-1)
  if (call === undefined) return undefined
  const about = call.command ?? call.path
  return about === undefined ? call.tool : `${call.tool}: ${about}`
}

/** The question as it was printed, where the shim has kept the beginning of its line. */
const questionOf = (session: Session): string => {
  const dir = session.paths.launch(lastLaunch(session.run)?.number ?? 1)
  const line = session.context.ports.processes.unfinishedLine(dir).trim()
  return line === '' ? '' : `: ${line.slice(-200)}`
}

const textOf = (session: Session, kind: StallKind, call: string | undefined): string => {
  const limits = stallLimits(session.context.config())
  const after = (limitMs: number): string => `for ${limitMs / 1000} s it printed nothing and used no processor time`
  const during = call === undefined ? '' : `, with this call open: ${call}`
  switch (kind) {
    case 'silence':
      return `${after(limits.silenceMs)}${during}`
    case 'stuck_after_tool_result':
      return `${after(limits.stuckAfterToolResultMs)} after the answer to its last tool call`
    case 'waiting_for_person':
      return `${after(limits.waitingForPersonMs)} at a question that nobody will answer${questionOf(session)}${during}`
  }
}

interface Seen {
  text: string
  call?: string
}

const stillIn = (session: Session, reading: Reading, kind: StallKind): Seen => {
  const call = openCallOf(reading)
  return { text: textOf(session, kind, call), ...(call === undefined ? {} : { call }) }
}

/** Its last calls may be other ones: it went on until it was ended. */
const loopIn = (session: Session, reading: Reading): Seen =>
  loopOf(reading.calls, loopLimits(session.context.config())) ?? mostFrequent(reading.calls)

const describe = async (session: Session, kind: ObservedStall['kind'], seen: Seen): Promise<ObservedStall> => {
  const { tree, changes } = await collectNow(session)
  const inside = (text: string): string => text.replaceAll(`${workTreeOf(session)}/`, '')
  return {
    kind,
    text: inside(seen.text),
    ...(seen.call === undefined ? {} : { call: inside(seen.call) }),
    tree,
    changed: changes.map(({ path }) => path),
  }
}

/**
 * Undefined where it was not stopped for a stall, or where the CLI itself had said why it is silent: it was retrying, and
 * that is the provider's affair.
 */
export const observedStall = async (
  session: Session,
  reading: Reading,
  cause: StopCause | undefined,
): Promise<ObservedStall | undefined> => {
  if (!isStall(cause) || reading.retry !== undefined || reading.limit !== undefined) return undefined
  return describe(session, cause, cause === 'doom_loop' ? loopIn(session, reading) : stillIn(session, reading, cause))
}

/** A turn that the CLI itself ended because of its circles, and that left nothing. */
export const ownLoopStop = (session: Session, reading: Reading): Promise<ObservedStall> | undefined =>
  reading.loopStopped === undefined ? undefined : describe(session, 'doom_loop', loopIn(session, reading))

/** Whether a restart helped although its turn stood still as well: work that was written counts. */
export const gotOn = (before: string, now: ObservedStall): { holds: boolean; detail: string } =>
  now.tree === before
    ? { holds: false, detail: `it stood still again (${now.kind}) and changed nothing` }
    : { holds: true, detail: `it stood still again (${now.kind}), but got on: ${now.changed.length} changed path(s)` }
