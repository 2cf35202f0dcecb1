/** Phase `collect`: captures what the agent left, before verification can write into the workspace. */
import { isOwed } from '../../../recovery/diagnosis/agent.ts'
import { collectNow, isUnchanged } from '../../agent/collected.ts'
import { observedDenials, readLaunch, standingDenials } from '../../agent/denials.ts'
import { ownLoopStop } from '../../agent/stalled.ts'
import { save, type Session } from '../../core/session.ts'
import { recover } from '../carry-out.ts'
import { settleWork } from '../no-change.ts'
import type { Next, Phase } from '../phase.ts'

/** Keeps the agent's own commits as a snapshot. They are never merged: the commit that lands is built by Unstuck. */
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

/**
 * Looks for the cause of a turn without a change (a refusal, a loop); without a cause the checks decide whether
 * nothing had to be done.
 */
const causeOfNothing = async (session: Session): Promise<Next | undefined> => {
  const reading = readLaunch(session)
  const denials = await observedDenials(session, reading.denials)
  if (denials.length > 0)
    return recover(session, { kind: 'denial', harness: session.driver.name, denials, because: 'nothing changed' })
  const stall = await ownLoopStop(session, reading)
  return stall === undefined ? undefined : recover(session, { kind: 'stall', stall })
}

/**
 * The agent was refused a path that it may be granted, so the work may be incomplete in a way no check notices.
 * Neither other changes nor passing checks make up for that.
 */
const causeOfGap = async (session: Session): Promise<Next | undefined> => {
  const denials = (await standingDenials(session)).filter(isOwed)
  return denials.length === 0
    ? undefined
    : recover(session, { kind: 'denial', harness: session.driver.name, denials, because: 'it may be granted' })
}

/**
 * Captures the work and keeps the agent's own commits; a turn without a change, or with a refused path, may lead to a
 * recovery.
 */
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
