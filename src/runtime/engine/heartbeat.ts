/**
 * The heartbeat: renews the leases of this engine's executors and its own heartbeat, five times within the life of a
 * lease. An executor whose lease is lost, or could not be renewed for its whole life, stops, because another engine
 * may own the task by then.
 */
import { renewIntervalMs } from '../../domain/lease.ts'
import { recordHeartbeat } from '../../store/engine.ts'
import { renewLeases } from '../../store/run.ts'
import type { Context } from '../core/context.ts'
import { harnessesHere } from '../harness/harness-choice.ts'
import type { RunContext } from '../core/run-context.ts'

export interface HeartbeatParts {
  engineId: string
  sessions: () => RunContext[]
  waiting: () => string | null
  /** Called when the other engines declared this engine dead: it registers again. */
  onDeclaredOffline: () => Promise<void>
}

const stopLapsed = (context: Context, sessions: RunContext[]): void => {
  const life = context.config().lease.ttlSeconds * 1000
  for (const runContext of sessions.filter(({ renewedAt }) => context.clock.elapsed() - renewedAt > life)) {
    context.log.warn(
      { run: runContext.run.id },
      'the lease could not be renewed for its whole life; this executor stops',
    )
    runContext.abort.abort('lease-lost')
  }
}

/**
 * Renews all leases and the heartbeat once. Never rejects: a failure is logged, and executors whose lease lapsed stop.
 */
export const sendHeartbeat = async (context: Context, parts: HeartbeatParts): Promise<void> => {
  const sessions = parts.sessions().filter(({ abort }) => !abort.signal.aborted)
  // Taken before the query: the new lease starts when the store responds, which cannot be earlier.
  const at = context.clock.elapsed()
  try {
    const asked = sessions.map(({ run }) => ({ runId: run.id, epoch: run.epoch }))
    const held = new Set(await renewLeases(context.db, asked, context.config().lease.ttlSeconds))
    for (const runContext of sessions) {
      if (!held.has(runContext.run.id)) {
        runContext.abort.abort('lease-lost')
        continue
      }
      runContext.renewedAt = at
      runContext.onRenewed?.()
    }
    const now = { harnesses: harnessesHere(context), waiting: parts.waiting() }
    if ((await recordHeartbeat(context.db, parts.engineId, now)) === 'offline') await parts.onDeclaredOffline()
  } catch (error) {
    context.log.warn({ error: String(error) }, 'the leases could not be renewed')
  }
  stopLapsed(context, sessions)
}

/** Sends heartbeats until the returned function is called. */
export const startHeartbeat = (context: Context, parts: HeartbeatParts): (() => void) => {
  let sending: Promise<void> | undefined
  return context.clock.every(renewIntervalMs(context.config().lease.ttlSeconds), () => {
    if (context.stopping.aborted) return
    // While the store does not respond, no second request is sent; executors whose lease lapses meanwhile stop all
    // the same.
    if (sending !== undefined) stopLapsed(context, parts.sessions())
    sending ??= sendHeartbeat(context, parts).finally(() => (sending = undefined))
  })
}
