/**
 * Carries out what was chosen for changed paths outside the task. The intent is stored in the run's verdict, so that every later
 * collection of the work leaves out, or allows, the same paths.
 */
import { keptVerdict, type Allowed, type Excluded, type Verdict } from '../../domain/run.ts'
import { extendAreas } from '../../store/area-hold.ts'
import { requireLease } from '../../store/run.ts'
import { collectedWork, withoutExcluded } from '../agent/collected.ts'
import { recordGrant } from '../core/granted-paths.ts'
import type { ActionHandlers, ActionOf, ChosenRecovery } from '../core/recovery-record.ts'
import { saveProgress, type RunContext } from '../core/run-context.ts'
import { recordIntent, resolveOpenOf } from '../core/store-record.ts'
import { askAboutPaths } from './policy-ask.ts'
import { recordApplied } from './policy-events.ts'
import type { PhaseResult } from './phase.ts'

/** The verdict with more paths left out. */
export const withExcluded = (verdict: Verdict | null, more: readonly Excluded[]): Verdict => {
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
    if (name === 'EXCLUDE_GENERATED')
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
    const paths = allowed.map(({ path }) => path)
    const task = await extendAreas(tx, run, runContext.task, paths)
    if (task === undefined) {
      await resolveOpenOf(tx, run.taskId, (_condition, recovery) =>
        recovery.actionKey === chosen.step.actionKey
          ? { satisfied: false, detail: 'another task works on these paths' }
          : undefined,
      )
      return
    }
    runContext.task = task
    const single: Allowed[] = []
    for (const { path, rule, because } of allowed) {
      const granted = await recordGrant(
        tx,
        { context, run, task },
        { path, rule, why: because, scope: 'task', by: 'rule' },
      )
      // A name with braces cannot be granted, because a grant is read as a rule; the run allows it by its exact name.
      if (!granted.ok) single.push({ path, because })
    }
    if (single.length > 0)
      await saveProgress(
        runContext,
        { verdict: { ...(run.verdict ?? keptVerdict(null)), allowed: [...(run.verdict?.allowed ?? []), ...single] } },
        tx,
      )
    const reasons = allowed.map(({ because }) => because)
    await recordApplied(tx, runContext, {
      attempt: chosen.step.attempt,
      by: 'rule',
      allowed: paths,
      discarded: [],
      reasons,
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
