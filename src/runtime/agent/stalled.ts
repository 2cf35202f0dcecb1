/**
 * The evidence of a stalled agent that was stopped. It is made only from the exit record, the output and the workspace, so that a
 * restarted engine gets the same result.
 */
import { lastLaunch } from '../../domain/run.ts'
import type { Transcript, Conclusion } from '../../harness/driver.ts'
import type { StopCause } from '../../process/shim-protocol.ts'
import { loopLimits } from '../../recovery/doom-loop.ts'
import type { ObservedStall } from '../../recovery/evidence.ts'
import { stallLimits, type NoProgress } from '../../recovery/stall.ts'
import { collectNow } from './collected.ts'
import { workTreeOf, type RunContext } from '../core/run-context.ts'
import { isAnswerUnseen, stallDescription, stallOf, type SeenStall } from './quiet-watch.ts'
import { defined } from '../../domain/defined.ts'

const limitsOf = ({ context, driver }: RunContext) => {
  const { stall, doomLoop } = context.config()
  const isUnseen = isAnswerUnseen(driver, context.ports.processes.receivedBytes)
  return { stall: stallLimits(stall, isUnseen), loops: loopLimits(doomLoop) }
}

const seenAtStop = ({ context, run, paths }: RunContext) => {
  const { processes } = context.ports
  const dir = paths.launch(lastLaunch(run)?.number ?? 1)
  // The unfinished line at the end of the output may be a question.
  return { question: processes.unfinishedLine(dir), started: processes.readStarted(dir) }
}

const describe = async (runContext: RunContext, kind: NoProgress, seen: SeenStall): Promise<ObservedStall> => {
  const { tree, changes } = await collectNow(runContext)
  const inside = (text: string): string => text.replaceAll(`${workTreeOf(runContext)}/`, '')
  return {
    kind,
    text: inside(seen.text),
    ...(seen.call === undefined ? {} : { call: inside(seen.call) }),
    ...defined({ started: seen.started }),
    tree,
    changed: changes.map(({ path }) => path),
  }
}

export const observedStall = async (
  runContext: RunContext,
  { reading, settled }: { reading: Transcript; settled: Conclusion },
  cause: StopCause | undefined,
): Promise<ObservedStall | undefined> => {
  const driver = runContext.driver.name
  const seen = stallOf(
    { driver, name: runContext.run.harness, reading, settled, cause },
    { ...limitsOf(runContext), seen: () => seenAtStop(runContext) },
  )
  return seen === undefined ? undefined : describe(runContext, seen.kind, seen)
}

/** For a turn that the CLI itself stopped because it detected a loop; undefined = it did not. */
export const ownLoopStop = (runContext: RunContext, reading: Transcript): Promise<ObservedStall> | undefined =>
  reading.loopStopped === undefined
    ? undefined
    : describe(
        runContext,
        'doom_loop',
        stallDescription('doom_loop', reading, { ...limitsOf(runContext), question: '', started: [] }),
      )
