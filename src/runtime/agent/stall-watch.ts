/** The stall detection of a run: a quiet agent is recorded by an event, a stalled one is also stopped. */
import { appendEvent } from '../../store/event.ts'
import { holdLease } from '../../store/run.ts'
import { stallLimits, type StallKind } from '../../recovery/stall.ts'
import type { Session } from '../core/session.ts'
import { watchQuiet, type Quieted, type StallWatch } from './stall-looks.ts'

const record = (session: Session, stall: StallKind | undefined, seen: Quieted): void => {
  const { context, run } = session
  const about = { goalId: run.goalId, taskId: run.taskId, runId: run.id }
  context.db
    .transaction(async (tx) => {
      await holdLease(tx, run)
      if (stall === undefined) await appendEvent(tx, { type: 'run.quiet', ...about, payload: { ...seen } })
      else await appendEvent(tx, { type: 'run.stalled', ...about, payload: { stall, ...seen } })
    })
    .catch((error: unknown) => {
      context.log.warn({ run: run.id, error: String(error) }, 'the event about a quiet agent could not be written')
    })
}

export interface Watched {
  /** Folder of the launch. */
  dir: string
  /** True = silence is not counted now. */
  rests: () => boolean
}

/** Watches until `end` is called or a limit is exceeded; then `stop` is called once. */
export const watchStalls = (
  session: Session,
  { dir, rests }: Watched,
  stop: (stall: StallKind) => void,
): StallWatch => {
  const { clock, ports, config } = session.context
  return watchQuiet({
    ...{ clock, rests, limits: stallLimits(config().stall) },
    usage: () => ports.processes.treeUsage(session.run.id),
    unfinished: () => ports.processes.unfinishedLine(dir),
    quiet: (seen) => record(session, undefined, seen),
    stalled: (stall, seen) => {
      record(session, stall, seen)
      stop(stall)
    },
  })
}
