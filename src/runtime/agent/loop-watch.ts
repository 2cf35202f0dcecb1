/**
 * Watches the tool calls of a running agent for a doom loop. A strictly repeated sequence is a loop by the calls alone. Many similar
 * calls are a loop only if the files did not change meanwhile, so the workspace is compared from time to time.
 */
import { join } from 'node:path'
import type { Reading } from '../../harness/driver.ts'
import type { Stream } from '../../process/contract.ts'
import { isCircling, loopLimits, loopOf, type LoopLimits } from '../../recovery/doom-loop.ts'
import { workTreeOf, type Session } from '../core/session.ts'

/** The tree of the workspace now. It has its own index file, because the collection of the run uses the run's index. */
const treeNow = async ({ context, run, paths, goal }: Session): Promise<string> => {
  const { tree } = await context.ports.git.captureTree(context.shadow, {
    base: run.baseCommit ?? '',
    workTree: workTreeOf({ goal, context, paths }),
    indexFile: join(paths.root, 'index-of-looks'),
  })
  return tree
}

/** Where a line was read. */
interface Offset {
  stream: Stream
  nextOffset: number
}

export interface LoopWatch {
  heard(place: Offset, before: Reading, after: Reading): void
  /** Waits for a comparison of the workspace that has started. */
  end(): Promise<void>
}

interface Comparisons {
  /** Number of calls that had been read at the last comparison. */
  comparedAt: number
  /** Bytes of output at that time. Calls read later may be older: after a restart of the engine all of them are. */
  written: Record<Stream, number>
  tree: string | undefined
  running: Promise<void> | undefined
}

const compareWork = async (
  session: Session,
  dir: string,
  comparisons: Comparisons,
  found: () => void,
): Promise<void> => {
  const { writtenBytes } = session.context.ports.processes
  try {
    const now = await treeNow(session)
    if (now === comparisons.tree) found()
    comparisons.tree = now
    comparisons.written = { stdout: writtenBytes(dir, 'stdout'), stderr: writtenBytes(dir, 'stderr') }
  } catch (error) {
    session.context.log.warn({ run: session.run.id, error: String(error) }, 'the workspace could not be compared')
  }
  comparisons.running = undefined
}

/** Calls that were printed before the last comparison, or are read during one, say nothing about progress since then. */
const skipOldCalls = (comparisons: Comparisons, { stream, nextOffset }: Offset, { toolCalls }: Reading): void => {
  if (comparisons.running !== undefined || nextOffset <= comparisons.written[stream]) comparisons.comparedAt = toolCalls
}

const isComparisonDue = (
  { comparedAt }: Comparisons,
  { callsWithoutChange }: LoopLimits,
  { toolCalls, calls }: Reading,
): boolean => toolCalls - comparedAt >= callsWithoutChange && isCircling(calls)

/** Watches until a loop is found or `end` is called; a loop calls `stop` once. `dir`: folder of the launch. */
export const watchLoops = (session: Session, dir: string, stop: () => void): LoopWatch => {
  const limits = loopLimits(session.context.config().doomLoop)
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
    heard(place, before, after) {
      if (over) return
      if ((after.retry?.attempt ?? 0) >= limits.ownRetries) return found()
      if (after.calls === before.calls) return
      skipOldCalls(comparisons, place, after)
      if (loopOf(after.calls, limits) !== undefined) return found()
      if (!isComparisonDue(comparisons, limits, after)) return
      comparisons.comparedAt = after.toolCalls
      comparisons.running = compareWork(session, dir, comparisons, found)
    },
    async end() {
      over = true
      await comparisons.running
    },
  }
}
