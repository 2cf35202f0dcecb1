/** Phase `policy`: stops changes outside the task's paths before they reach a commit, and measures what is left. */
import { oversized, type Oversized } from '../../../domain/change-size.ts'
import { isGivenBack } from '../../../domain/task.ts'
import type { ChangeList } from '../../../workspace/repository-types.ts'
import { collectedWork } from '../../agent/collected.ts'
import { touchGrants, touchLearned } from '../../core/granted-paths.ts'
import { saveProgress, type RunContext } from '../../core/run-context.ts'
import { requireLease } from '../../../store/run.ts'
import { recover } from '../carry-out.ts'
import { resolvePaths } from '../resolve-feedback.ts'
import { checkChangedPaths } from '../path-fence.ts'
import { policyOptions } from '../policy-options.ts'
import type { Phase } from '../phase.ts'
import { secretLines, unsearchedNotes } from '../secret-lines.ts'
import { defined } from '../../../domain/defined.ts'

/** The size of the change, if it is above a limit. A person's own work is as large as they want it to be. */
const sizeAboveLimits = async (
  { context, task }: RunContext,
  { base, tree }: ChangeList,
): Promise<Oversized | undefined> => {
  const { change } = context.config()
  if (isGivenBack(task) || (change.maxFiles === -1 && change.maxLines === -1)) return undefined
  const size = await context.ports.git.changeSize(context.shadow, { base, tree, mostLines: change.maxLines })
  return oversized(size, change)
}

/** The paths are permitted: the next phase follows, and what they used of granted and learned paths is recorded. */
const accept = async (runContext: RunContext, found: ChangeList): Promise<void> => {
  const { context, goal, run, task } = runContext
  const phase = goal.repoMode === 'direct' ? 'finish' : 'commit'
  const notes = unsearchedNotes(await secretLines(runContext, found))
  const large = await sizeAboveLimits(runContext, found)
  const verdict = run.verdict && {
    ...run.verdict,
    notes: [...new Set([...run.verdict.notes, ...notes])],
    ...defined({ oversized: large }),
  }
  const changed = found.changes.map(({ path }) => path)
  const excluded = (run.verdict?.excluded ?? []).map(({ path }) => path.replace(/\/$/, ''))
  await context.db.transaction(async (tx) => {
    await saveProgress(runContext, notes.length === 0 && large === undefined ? { phase } : { phase, verdict }, tx)
    await touchGrants(tx, { context, run, task }, changed)
    await touchLearned(tx, { context, run }, excluded)
  })
}

/** Compares the changed paths with those of the task; any violation goes to the ladder. */
export const policy: Phase = async (runContext) => {
  const found = await collectedWork(runContext)
  const result = await checkChangedPaths(runContext, found)
  const { context, run } = runContext
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await resolvePaths(
      tx,
      runContext,
      result.violations.map(({ path }) => path),
    )
  })
  if (result.violations.length > 0) {
    const violations = result.violations.map(({ path, kind, rule }) => ({ path, kind, rule }))
    const options = await policyOptions(runContext, found, result.violations)
    return recover(
      runContext,
      { kind: 'policy', violations, options },
      { source: 'policy', policyViolations: violations },
    )
  }
  await accept(runContext, found)
  return 'on'
}
