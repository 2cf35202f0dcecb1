/**
 * Looks at the calls of a running agent. A strict circle is told by the calls alone; many repeated calls are one only if the
 * work did not change meanwhile, and for that the workspace is looked at, now and then.
 */
import { join } from 'node:path'
import type { Reading } from '../harness/driver.ts'
import type { Stream } from '../process/contract.ts'
import { isCircling, loopLimits, loopOf } from '../recovery/doom-loop.ts'
import { workTreeOf, type Session } from './session.ts'

/** The files as they are now, by an index of its own: the run's is used when the agent has ended. */
const treeNow = async ({ context, run, paths, goal }: Session): Promise<string> => {
  const { tree } = await context.ports.git.captureTree(context.shadow, {
    base: run.baseCommit ?? '',
    workTree: workTreeOf({ goal, context, paths }),
    indexFile: join(paths.root, 'index-of-looks'),
  })
  return tree
}

/** Where a line was read. */
interface Place {
  stream: Stream
  nextOffset: number
}

export interface LoopWatch {
  heard(place: Place, before: Reading, after: Reading): void
  /** Waits for a look at the workspace that has begun. */
  end(): Promise<void>
}

/** Watches until a loop is found; then `stop` is called, once. `dir`: folder of the launch. */
export const watchLoops = (session: Session, dir: string, stop: () => void): LoopWatch => {
  const limits = loopLimits(session.context.config().doomLoop)
  let over = false
  let lookedAt = 0
  // What was printed when the work was looked at last: calls read later may be older than that look, after an engine's restart all are.
  let written: Record<Stream, number> = { stdout: 0, stderr: 0 }
  let tree: string | undefined
  let looking: Promise<void> | undefined
  const found = (): void => {
    if (over) return
    over = true
    stop()
  }
  const { writtenBytes } = session.context.ports.processes
  const lookAtWork = async (): Promise<void> => {
    try {
      const now = await treeNow(session)
      if (now === tree) found()
      tree = now
      written = { stdout: writtenBytes(dir, 'stdout'), stderr: writtenBytes(dir, 'stderr') }
    } catch (error) {
      session.context.log.warn({ run: session.run.id, error: String(error) }, 'the work could not be looked at')
    }
    looking = undefined
  }
  return {
    heard({ stream, nextOffset }, before, after) {
      if (over) return
      if ((after.retry?.attempt ?? 0) >= limits.ownRetries) return found()
      if (after.calls === before.calls) return
      if (looking !== undefined || nextOffset <= written[stream]) lookedAt = after.toolCalls
      if (loopOf(after.calls, limits) !== undefined) return found()
      const due = after.toolCalls - lookedAt >= limits.callsWithoutChange
      if (!due || !isCircling(after.calls)) return
      lookedAt = after.toolCalls
      looking = lookAtWork()
    },
    async end() {
      over = true
      await looking
    },
  }
}
