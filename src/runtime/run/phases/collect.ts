/** Phase `collect`: what the agent left, before verification can write into it. */
import { isOwed } from '../../../recovery/diagnosis/agent.ts'
import { collectNow, isUnchanged } from '../../agent/collected.ts'
import { observedDenials, readLaunch, standingDenials } from '../../agent/denials.ts'
import { ownLoopStop } from '../../agent/stalled.ts'
import { save, type Session } from '../../core/session.ts'
import { recover } from '../carry-out.ts'
import { settleWork } from '../no-change.ts'
import type { Next, Phase } from '../phase.ts'

/** Kept as a snapshot, never merged: the commit that lands is ours. */
const keepCommits = async (session: Session, base: string): Promise<void> => {
  const { context, goal, paths, run } = session
  if (goal.repoMode === 'direct') return
  const { reason } = await context.ports.git.keepAgentCommits(context.shadow, {
    workspace: paths.workspace,
    runId: run.id,
    base,
  })
  if (reason !== null) context.log.info({ run: run.id, reason }, "the agent's own commits were not all kept")
}

/** A turn without a change has a cause, or nothing had to be done: then the checks are asked. */
const causeOfNothing = async (session: Session): Promise<Next | undefined> => {
  const reading = readLaunch(session)
  const denials = await observedDenials(session, reading.denials)
  if (denials.length > 0)
    return recover(session, { kind: 'denial', harness: session.driver.name, denials, because: 'nothing changed' })
  const stall = await ownLoopStop(session, reading)
  return stall === undefined ? undefined : recover(session, { kind: 'stall', stall })
}

/**
 * A path that the agent may be given was refused. What it was to hold is missing from the work, and no check need know of it:
 * so neither other changes nor checks that pass make up for it.
 */
const causeOfGap = async (session: Session): Promise<Next | undefined> => {
  const denials = (await standingDenials(session)).filter(isOwed)
  return denials.length === 0
    ? undefined
    : recover(session, { kind: 'denial', harness: session.driver.name, denials, because: 'it may be granted' })
}

export const collect: Phase = async (session) => {
  const found = await collectNow(session)
  await keepCommits(session, found.base)
  session.context.at('collected')
  const unchanged = isUnchanged(found)
  if (!unchanged) await settleWork(session, { holds: true, detail: `${found.changes.length} changed path(s)` })
  const next = await (unchanged ? causeOfNothing : causeOfGap)(session)
  if (next !== undefined) return next
  await save(session, { phase: 'verify', tree: found.tree })
  return 'on'
}
