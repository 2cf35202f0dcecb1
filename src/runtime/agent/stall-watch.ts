/** The stall detection of a run: a quiet agent is recorded by an event, a stalled one is also stopped. */
import { appendEvent } from '../../store/event.ts'
import { requireLease } from '../../store/run.ts'
import { stallLimits, type StallKind } from '../../recovery/stall.ts'
import type { RunContext } from '../core/run-context.ts'
import { isAnswerUnseen, watchQuiet, type QuietObservation, type StallWatch } from './quiet-watch.ts'

const record = (runContext: RunContext, stall: StallKind | undefined, seen: QuietObservation): void => {
  const { context, run } = runContext
  const about = { goalId: run.goalId, taskId: run.taskId, runId: run.id }
  context.db
    .transaction(async (tx) => {
      await requireLease(tx, run)
      if (stall === undefined) await appendEvent(tx, { type: 'run.quiet', ...about, payload: { ...seen } })
      else await appendEvent(tx, { type: 'run.stalled', ...about, payload: { stall, ...seen } })
    })
    .catch((error: unknown) => {
      context.log.warn({ run: run.id, error: String(error) }, 'the event about a quiet agent could not be written')
    })
}

export interface StallWatchOptions {
  /** Folder of the launch. */
  dir: string
  /** True = silence is not counted now. */
  isPaused: () => boolean
}

/** Watches until `end` is called or a limit is exceeded; then `stop` is called once. */
export const watchStalls = (
  runContext: RunContext,
  { dir, isPaused }: StallWatchOptions,
  stop: (stall: StallKind) => void,
): StallWatch => {
  const { clock, ports, config } = runContext.context
  const isUnseen = isAnswerUnseen(runContext.driver, ports.processes.receivedBytes)
  return watchQuiet({
    ...{ clock, isPaused, limits: stallLimits(config().stall, isUnseen) },
    usage: () => ports.processes.treeUsage(runContext.run.id),
    received: ports.processes.receivedBytes,
    unfinished: () => ports.processes.unfinishedLine(dir),
    // What a plain command has started is its work.
    started: (members) =>
      runContext.driver.name === 'command' ? [] : ports.processes.startedPrograms(members, runContext.driver.name),
    onQuiet: (seen) => record(runContext, undefined, seen),
    onStall: (stall, seen) => {
      record(runContext, stall, seen)
      ports.processes.noteStarted(dir, seen.started ?? [])
      stop(stall)
    },
  })
}
