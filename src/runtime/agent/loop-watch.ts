/**
 * Watches the tool calls of a running agent for a doom loop. A strictly repeated sequence is a loop by the calls alone. Many similar
 * calls are a loop only if the files did not change meanwhile, so the workspace is compared from time to time.
 */
import { join } from 'node:path'
import type { Transcript } from '../../harness/driver.ts'
import type { OutputStream } from '../../process/shim-protocol.ts'
import { isRepeating, loopLimits, loopOf, type LoopLimits } from '../../recovery/doom-loop.ts'
import { workTreeOf, type RunContext } from '../core/run-context.ts'

/** The tree of the workspace now. It has its own index file, because the collection of the run uses the run's index. */
const treeNow = async ({ context, run, paths, goal }: RunContext): Promise<string> => {
  const { tree } = await context.ports.git.captureTree(context.shadow, {
    base: run.baseCommit ?? '',
    workTree: workTreeOf({ goal, context, paths }),
    indexFile: join(paths.root, 'index-of-looks'),
  })
  return tree
}

/** Where a line was read. */
interface Offset {
  stream: OutputStream
  nextOffset: number
}

export interface LoopWatch {
  onLine(place: Offset, before: Transcript, after: Transcript): void
  /** Waits for a comparison of the workspace that has started. */
  end(): Promise<void>
}

interface Comparisons {
  /** Number of calls that had been read at the last comparison. */
  comparedAt: number
  /** Bytes of output at that time. Calls read later may be older: after a restart of the engine all of them are. */
  written: Record<OutputStream, number>
  tree: string | undefined
  running: Promise<void> | undefined
}

const compareWork = async (
  runContext: RunContext,
  dir: string,
  comparisons: Comparisons,
  found: () => void,
): Promise<void> => {
  const { writtenBytes } = runContext.context.ports.processes
  try {
    const now = await treeNow(runContext)
    if (now === comparisons.tree) found()
    comparisons.tree = now
    comparisons.written = { stdout: writtenBytes(dir, 'stdout'), stderr: writtenBytes(dir, 'stderr') }
  } catch (error) {
    runContext.context.log.warn({ run: runContext.run.id, error: String(error) }, 'the workspace could not be compared')
  }
  comparisons.running = undefined
}

/** Calls that were printed before the last comparison, or are read during one, say nothing about progress since then. */
const skipOldCalls = (comparisons: Comparisons, { stream, nextOffset }: Offset, { toolCalls }: Transcript): void => {
  if (comparisons.running !== undefined || nextOffset <= comparisons.written[stream]) comparisons.comparedAt = toolCalls
}

const isComparisonDue = (
  { comparedAt }: Comparisons,
  { callsWithoutChange }: LoopLimits,
  { toolCalls, calls }: Transcript,
): boolean => toolCalls - comparedAt >= callsWithoutChange && isRepeating(calls)

/** Watches until a loop is found or `end` is called; a loop calls `stop` once. `dir`: folder of the launch. */
export const watchLoops = (runContext: RunContext, dir: string, stop: () => void): LoopWatch => {
  const limits = loopLimits(runContext.context.config().doomLoop)
  const comparisons: Comparisons = {
    comparedAt: 0,
    written: { stdout: 0, stderr: 0 },
    tree: undefined,
    running: undefined,
  }
  let over = false
  const found = (): void => {
    if (over) return
    over = true
    stop()
  }
  return {
    onLine(place, before, after) {
      if (over) return
      if ((after.retry?.attempt ?? 0) >= limits.ownRetries) return found()
      if (after.calls === before.calls) return
      skipOldCalls(comparisons, place, after)
      if (loopOf(after.calls, limits) !== undefined) return found()
      if (!isComparisonDue(comparisons, limits, after)) return
      comparisons.comparedAt = after.toolCalls
      comparisons.running = compareWork(runContext, dir, comparisons, found)
    },
    async end() {
      over = true
      await comparisons.running
    },
  }
}
