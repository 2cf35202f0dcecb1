/**
 * What an agent that was stopped for standing still left behind. Made from the cause in its exit record, its output and its
 * workspace, so that an engine that comes back finds the same.
 */
import { lastLaunch } from '../domain/run.ts'
import type { Reading } from '../harness/driver.ts'
import type { StopCause } from '../process/contract.ts'
import { loopLimits } from '../recovery/doom-loop.ts'
import type { ObservedStall } from '../recovery/evidence.ts'
import { isStall, stallLimits, type Stalled } from '../recovery/stall.ts'
import { collectNow } from './collected.ts'
import { workTreeOf, type Session } from './session.ts'
import { seenAtStall } from './stall-looks.ts'

const limitsOf = (session: Session) => {
  const config = session.context.config()
  return { stall: stallLimits(config.stall), loops: loopLimits(config.doomLoop) }
}

/** The question as it was printed, where the shim has kept the beginning of its line. */
const questionOf = (session: Session): string =>
  session.context.ports.processes.unfinishedLine(session.paths.launch(lastLaunch(session.run)?.number ?? 1))

const seenIn = (session: Session, reading: Reading, stalled: Stalled) =>
  seenAtStall(stalled, reading, { ...limitsOf(session), question: questionOf(session) })

const describe = async (
  session: Session,
  kind: Stalled,
  seen: ReturnType<typeof seenAtStall>,
): Promise<ObservedStall> => {
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
  return describe(session, cause, seenIn(session, reading, cause))
}

/** A turn that the CLI itself ended because of its circles, and that left nothing. */
export const ownLoopStop = (session: Session, reading: Reading): Promise<ObservedStall> | undefined =>
  reading.loopStopped === undefined ? undefined : describe(session, 'doom_loop', seenIn(session, reading, 'doom_loop'))

/** Whether a restart helped although its turn stood still as well: work that was written counts. */
export const gotOn = (before: string, now: ObservedStall): { holds: boolean; detail: string } =>
  now.tree === before
    ? { holds: false, detail: `it stood still again (${now.kind}) and changed nothing` }
    : {
        holds: true,
        detail: `it stood still again (${now.kind}), but got on: ${now.changed?.length ?? 0} changed path(s)`,
      }
