/**
 * Looks at the calls of a running agent. A strict circle is told by the calls alone; many repeated calls are one only if the
 * work did not change meanwhile, and for that the workspace is looked at, now and then.
 */
import { join } from 'node:path'
import type { Reading } from '../../harness/driver.ts'
import type { Stream } from '../../process/contract.ts'
import { isCircling, loopLimits, loopOf, type LoopLimits } from '../../recovery/doom-loop.ts'
import { workTreeOf, type Session } from '../core/session.ts'

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

interface Looks {
  /** Calls that were read when the work was looked at last. */
  lookedAt: number
  /** What was printed then: calls read later may be older than that look, after an engine's restart all are. */
  written: Record<Stream, number>
  tree: string | undefined
  looking: Promise<void> | undefined
}

const lookAtWork = async (session: Session, dir: string, looks: Looks, found: () => void): Promise<void> => {
  const { writtenBytes } = session.context.ports.processes
  try {
    const now = await treeNow(session)
    if (now === looks.tree) found()
    looks.tree = now
    looks.written = { stdout: writtenBytes(dir, 'stdout'), stderr: writtenBytes(dir, 'stderr') }
  } catch (error) {
    session.context.log.warn({ run: session.run.id, error: String(error) }, 'the work could not be looked at')
  }
  looks.looking = undefined
}

/** Calls that were printed before the look, or are read during one, are not counted. */
const skipOldCalls = (looks: Looks, { stream, nextOffset }: Place, { toolCalls }: Reading): void => {
  if (looks.looking !== undefined || nextOffset <= looks.written[stream]) looks.lookedAt = toolCalls
}

const isLookDue = ({ lookedAt }: Looks, { callsWithoutChange }: LoopLimits, { toolCalls, calls }: Reading): boolean =>
  toolCalls - lookedAt >= callsWithoutChange && isCircling(calls)

/** Watches until a loop is found; then `stop` is called, once. `dir`: folder of the launch. */
export const watchLoops = (session: Session, dir: string, stop: () => void): LoopWatch => {
  const limits = loopLimits(session.context.config().doomLoop)
  const looks: Looks = { lookedAt: 0, written: { stdout: 0, stderr: 0 }, tree: undefined, looking: undefined }
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
      skipOldCalls(looks, place, after)
      if (loopOf(after.calls, limits) !== undefined) return found()
      if (!isLookDue(looks, limits, after)) return
      looks.lookedAt = after.toolCalls
      looks.looking = lookAtWork(session, dir, looks, found)
    },
    async end() {
      over = true
      await looks.looking
    },
  }
}
