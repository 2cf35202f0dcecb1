/** The clocks of a run: a stalled agent is told of by an event and its stop asked for. */
import { appendEvent } from '../../store/event.ts'
import { holdLease } from '../../store/run.ts'
import { stallLimits, type StallKind } from '../../recovery/stall.ts'
import type { Session } from '../core/session.ts'
import { watchQuiet, type Quieted, type StallWatch } from './stall-looks.ts'

const tell = (session: Session, stall: StallKind | undefined, seen: Quieted): void => {
  const { context, run } = session
  const place = { goalId: run.goalId, taskId: run.taskId, runId: run.id }
  context.db
    .transaction(async (tx) => {
      await holdLease(tx, run)
      if (stall === undefined) await appendEvent(tx, { type: 'run.quiet', ...place, payload: { ...seen } })
      else await appendEvent(tx, { type: 'run.stalled', ...place, payload: { stall, ...seen } })
    })
    .catch((error: unknown) => {
      context.log.warn({ run: run.id, error: String(error) }, 'a quiet agent could not be told of')
    })
}

export interface Watched {
  /** Folder of the launch. */
  dir: string
  /** Nothing is counted meanwhile. */
  rests: () => boolean
}

/** Watches until `end` is called or a clock ran out; then `stop` is called, once. */
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
    quiet: (seen) => tell(session, undefined, seen),
    stalled: (stall, seen) => {
      tell(session, stall, seen)
      stop(stall)
    },
  })
}
