/**
 * The engine's sign of life: leases of its executors and its own heartbeat, renewed together five times within a lease's
 * life. An executor whose lease is gone, or could not be renewed for its whole life, lets go: another engine may act now.
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
  /** The others took this engine for dead: it registers again. */
  buried: () => Promise<void>
}

const letGoOfLapsed = (context: Context, sessions: Session[]): void => {
  const life = context.config().lease.ttlSeconds * 1000
  for (const session of sessions.filter(({ renewedAt }) => context.clock.elapsed() - renewedAt > life)) {
    context.log.warn(
      { run: session.run.id },
      'the lease could not be renewed for its whole life; this executor lets go',
    )
    session.abort.abort('lease-lost')
  }
}

export const beatOnce = async (context: Context, parts: BeatParts): Promise<void> => {
  const sessions = parts.sessions().filter(({ abort }) => !abort.signal.aborted)
  // Before the question: the lease begins anew when the store answers, which cannot be earlier.
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
  letGoOfLapsed(context, sessions)
}

/** Beats until the function that is given back is called. */
export const startBeat = (context: Context, parts: BeatParts): (() => void) => {
  let beating: Promise<void> | undefined
  return context.clock.every(renewMs(context.config().lease.ttlSeconds), () => {
    if (context.stopping.aborted) return
    // While the store hangs, no second request is put behind the first; what lapses meanwhile is let go all the same.
    if (beating !== undefined) letGoOfLapsed(context, parts.sessions())
    beating ??= beatOnce(context, parts).finally(() => (beating = undefined))
  })
}
