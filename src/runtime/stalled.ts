/**
 * What an agent that was stopped for standing still left behind. Made from the cause in its exit record, its output and its
 * workspace, so that an engine that comes back finds the same.
 */
import { lastLaunch } from '../domain/run.ts'
import type { Reading, Settled } from '../harness/driver.ts'
import type { StopCause } from '../process/contract.ts'
import { loopLimits } from '../recovery/doom-loop.ts'
import type { ObservedStall } from '../recovery/evidence.ts'
import { isDeath, isStall, stallLimits, type StallCause, type Stalled } from '../recovery/stall.ts'
import { collectNow } from './collected.ts'
import { workTreeOf, type Session } from './session.ts'
import { openCallOf, seenAtStall } from './stall-looks.ts'

const limitsOf = (session: Session) => {
  const config = session.context.config()
  return { stall: stallLimits(config.stall), loops: loopLimits(config.doomLoop) }
}

/** The question as it was printed, where the shim has kept the beginning of its line. */
const questionOf = (session: Session): string =>
  session.context.ports.processes.unfinishedLine(session.paths.launch(lastLaunch(session.run)?.number ?? 1))

const seenIn = (session: Session, reading: Reading, stalled: StallCause) =>
  seenAtStall(stalled, reading, { ...limitsOf(session), question: questionOf(session) })

const describe = async (
  session: Session,
  kind: Stalled,
  seen: { text: string; call?: string },
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
 * Undefined where it was not stopped for a stall and has not died, or where the CLI itself had said why it is silent: it was
 * retrying, and that is the provider's affair.
 */
export const observedStall = async (
  session: Session,
  { reading, settled }: { reading: Reading; settled: Settled },
  cause: StopCause | undefined,
): Promise<ObservedStall | undefined> => {
  if (settled.ok || reading.retry !== undefined || reading.limit !== undefined) return undefined
  if (isStall(cause)) return describe(session, cause, seenIn(session, reading, cause))
  if (!isDeath(settled.error.type)) return undefined
  const call = openCallOf(reading)
  const { text } = settled.error
  return describe(
    session,
    'agent_died',
    call === undefined ? { text } : { text: `${text}, with this call open: ${call}`, call },
  )
}

/** A turn that the CLI itself ended because of its circles, and that left nothing. */
export const ownLoopStop = (session: Session, reading: Reading): Promise<ObservedStall> | undefined =>
  reading.loopStopped === undefined ? undefined : describe(session, 'doom_loop', seenIn(session, reading, 'doom_loop'))

/** Whether a restart helped although its turn stood still as well: work that was written counts. */
export const gotOn = (before: string, now: ObservedStall): { holds: boolean; detail: string } =>
  now.tree === before
    ? { holds: false, detail: `it did not get on again (${now.kind}) and changed nothing` }
    : {
        holds: true,
        detail: `it ended too early again (${now.kind}), but got on: ${now.changed?.length ?? 0} changed path(s)`,
      }
