/** Whether a proposed command may run now without a person: by the owner's lists as they are now, the limit of the goal, and the cooldown. */
import type { RecoveryProposal } from '../../domain/recovery-proposal.ts'
import { decideProposal } from '../../recovery/proposal/decide.ts'
import type { PatternFlag } from '../../recovery/proposal/error-pattern.ts'
import type { CommandDecision } from '../../recovery/proposal/match.ts'
import type { Queryable } from '../../store/db.ts'
import { storeNow } from '../../store/event.ts'
import { countedExecutions } from '../../store/recovery-proposal.ts'
import type { RunContext } from '../core/run-context.ts'

export const decisionNow = (
  { context }: Pick<RunContext, 'context'>,
  { flag }: Pick<RecoveryProposal, 'flag'>,
  command: string,
): CommandDecision => {
  const settings = context.config().recovery
  if (settings?.enabled !== true) return { kind: 'refuse', reason: 'recovery is switched off' }
  return decideProposal(command, settings, (flag ?? undefined) as PatternFlag | undefined)
}

export interface AutomaticLimits {
  /** The goal has had as many commands without a person as it may have. */
  reached: boolean
  most: number
  /** Milliseconds until the cooldown ends. */
  delayMs: number
  until: Date
}

export const automaticLimits = async (
  db: Queryable,
  { context, goal }: Pick<RunContext, 'context' | 'goal'>,
): Promise<AutomaticLimits> => {
  const settings = context.config().recovery
  const { count, last } = await countedExecutions(db, goal.id)
  const most = settings?.max_auto_recoveries_per_run ?? 0
  const now = (await storeNow(db)).getTime()
  const cooldownMs = (settings?.cooldown_seconds ?? 0) * 1000
  // No longer than the cooldown itself, also where the clock was set back since the last command.
  const delayMs = last === null ? 0 : Math.min(last.getTime() + cooldownMs - now, cooldownMs)
  return { reached: count >= most, most, delayMs, until: new Date(now + delayMs) }
}
