/**
 * The heartbeat: renews the leases of this engine's executors and its own heartbeat, five times within the life of a
 * lease. An executor whose lease is lost, or could not be renewed for its whole life, stops, because another engine
 * may own the task by then.
 */
import { renewMs } from '../../domain/lease.ts'
import { beatEngine } from '../../store/engine.ts'
import { renewLeases } from '../../store/run.ts'
import type { Context } from '../core/context.ts'
import { harnessesHere } from '../harness/harness-choice.ts'
import type { Session } from '../core/session.ts'

export interface BeatParts {
  engineId: string
  sessions: () => Session[]
  waiting: () => string | null
  /** Called when the other engines declared this engine dead: it registers again. */
  buried: () => Promise<void>
}

const stopLapsed = (context: Context, sessions: Session[]): void => {
  const life = context.config().lease.ttlSeconds * 1000
  for (const session of sessions.filter(({ renewedAt }) => context.clock.elapsed() - renewedAt > life)) {
    context.log.warn({ run: session.run.id }, 'the lease could not be renewed for its whole life; this executor stops')
    session.abort.abort('lease-lost')
  }
}

/**
 * Renews all leases and the heartbeat once. Never rejects: a failure is logged, and executors whose lease lapsed stop.
 */
export const beatOnce = async (context: Context, parts: BeatParts): Promise<void> => {
  const sessions = parts.sessions().filter(({ abort }) => !abort.signal.aborted)
  // Taken before the query: the new lease starts when the store responds, which cannot be earlier.
  const at = context.clock.elapsed()
  try {
    const asked = sessions.map(({ run }) => ({ runId: run.id, epoch: run.epoch }))
    const held = new Set(await renewLeases(context.db, asked, context.config().lease.ttlSeconds))
    for (const session of sessions) {
      if (!held.has(session.run.id)) {
        session.abort.abort('lease-lost')
        continue
      }
      session.renewedAt = at
      session.renewed?.()
    }
    const now = { harnesses: harnessesHere(context), waiting: parts.waiting() }
    if ((await beatEngine(context.db, parts.engineId, now)) === 'offline') await parts.buried()
  } catch (error) {
    context.log.warn({ error: String(error) }, 'the leases could not be renewed')
  }
  stopLapsed(context, sessions)
}

/** Sends heartbeats until the returned function is called. */
export const startBeat = (context: Context, parts: BeatParts): (() => void) => {
  let sending: Promise<void> | undefined
  return context.clock.every(renewMs(context.config().lease.ttlSeconds), () => {
    if (context.stopping.aborted) return
    // While the store does not respond, no second request is sent; executors whose lease lapses meanwhile stop all
    // the same.
    if (sending !== undefined) stopLapsed(context, parts.sessions())
    sending ??= beatOnce(context, parts).finally(() => (sending = undefined))
  })
}
