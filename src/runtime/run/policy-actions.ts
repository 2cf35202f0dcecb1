/**
 * Carries out what was chosen for changed paths outside the task. What is left out is stored in the run's
 * verdict, so that every later collection of the work leaves out the same paths; what is allowed is stored as a grant.
 */
import { keptVerdict, type Excluded, type Verdict } from '../../domain/run.ts'
import { requireLease } from '../../store/run.ts'
import { collectedWork, withoutExcluded } from '../agent/collected.ts'
import type { ActionHandlers, ActionOf, ChosenRecovery } from '../core/recovery-record.ts'
import { saveProgress, type RunContext } from '../core/run-context.ts'
import { recordIntent, resolveOpenOf } from '../core/store-record.ts'
import { askAboutPaths } from './policy-ask.ts'
import { recordApplied } from './policy-events.ts'
import { grantPaths } from './policy-grants.ts'
import type { PhaseResult } from './phase.ts'

/** The verdict with more paths left out. */
const withExcluded = (verdict: Verdict | null, more: readonly Excluded[]): Verdict => {
  const kept = keptVerdict(verdict)
  return { ...kept, excluded: [...(kept.excluded ?? []), ...more] }
}

/** The work changes, so it is checked again. Nothing is removed from the workspace, so nothing can be lost. */
const excludePaths = async (
  runContext: RunContext,
  chosen: ChosenRecovery<ActionOf<'exclude_paths'>>,
): Promise<PhaseResult> => {
  const { context } = runContext
  const { excluded, name } = chosen.step.action
  const verdict = withExcluded(runContext.run.verdict, excluded)
  const work = await withoutExcluded(runContext, await collectedWork(runContext), excluded)
  await context.db.transaction(async (tx) => {
    await recordIntent(context, tx, runContext.run, chosen)
    if (name === 'EXCLUDE_PATHS')
      await recordApplied(tx, runContext, {
        ...{ attempt: chosen.step.attempt, by: 'rule', allowed: [] },
        discarded: excluded.map(({ path }) => path),
        reasons: excluded.map(({ because }) => because),
      })
    await saveProgress(runContext, { phase: 'verify', tree: work.tree, verdict }, tx)
  })
  runContext.collected = work
  context.at('recovery-intended')
  return 'on'
}

/** The checks ran on this tree, so they stay valid; only the rules are read again. */
const allowPaths = async (
  runContext: RunContext,
  chosen: ChosenRecovery<ActionOf<'allow_paths'>>,
): Promise<PhaseResult> => {
  const { context } = runContext
  const { run } = runContext
  const { allowed } = chosen.step.action
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await recordIntent(context, tx, run, chosen)
    const granted = await grantPaths(tx, runContext, { scope: 'task', by: 'rule', paths: allowed })
    if (granted.length === 0)
      return resolveOpenOf(tx, run.taskId, (_condition, recovery) =>
        recovery.actionKey === chosen.step.actionKey
          ? { satisfied: false, detail: 'another task works on these paths' }
          : undefined,
      )
    return recordApplied(tx, runContext, {
      ...{ attempt: chosen.step.attempt, by: 'rule', allowed: granted, discarded: [] },
      reasons: allowed.filter(({ path }) => granted.includes(path)).map(({ because }) => because),
    })
  })
  context.at('recovery-intended')
  return 'on'
}

export const pathActions: ActionHandlers<RunContext, PhaseResult, 'exclude_paths' | 'allow_paths' | 'ask_paths'> = {
  exclude_paths: excludePaths,
  allow_paths: allowPaths,
  ask_paths: askAboutPaths,
}
