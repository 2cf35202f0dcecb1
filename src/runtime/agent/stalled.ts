/**
 * The evidence of a stalled agent that was stopped. It is made only from the exit record, the output and the workspace, so that a
 * restarted engine gets the same result.
 */
import { lastLaunch } from '../../domain/run.ts'
import type { Reading, Settled } from '../../harness/driver.ts'
import type { StopCause } from '../../process/contract.ts'
import { loopLimits } from '../../recovery/doom-loop.ts'
import type { ObservedStall } from '../../recovery/evidence.ts'
import { stallLimits, type Stalled } from '../../recovery/stall.ts'
import { collectNow } from './collected.ts'
import { workTreeOf, type Session } from '../core/session.ts'
import { seenAtStall, stallOf } from './stall-looks.ts'

const limitsOf = (session: Session) => {
  const config = session.context.config()
  return { stall: stallLimits(config.stall), loops: loopLimits(config.doomLoop) }
}

/** The unfinished line at the end of the output, which may be a question. */
const questionOf = (session: Session): string =>
  session.context.ports.processes.unfinishedLine(session.paths.launch(lastLaunch(session.run)?.number ?? 1))

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

export const observedStall = async (
  session: Session,
  { reading, settled }: { reading: Reading; settled: Settled },
  cause: StopCause | undefined,
): Promise<ObservedStall | undefined> => {
  const driver = session.driver.name
  const seen = stallOf(
    { driver, reading, settled, cause },
    { ...limitsOf(session), question: () => questionOf(session) },
  )
  return seen === undefined ? undefined : describe(session, seen.kind, seen)
}

/** For a turn that the CLI itself stopped because it detected a loop; undefined = it did not. */
export const ownLoopStop = (session: Session, reading: Reading): Promise<ObservedStall> | undefined =>
  reading.loopStopped === undefined
    ? undefined
    : describe(session, 'doom_loop', seenAtStall('doom_loop', reading, { ...limitsOf(session), question: '' }))
