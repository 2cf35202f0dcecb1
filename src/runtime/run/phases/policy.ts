/** Phase `policy`: stops changes outside the task's paths before they reach a commit. */
import { collectedWork } from '../../agent/collected.ts'
import { saveProgress } from '../../core/run-context.ts'
import { requireLease } from '../../../store/run.ts'
import { recover } from '../carry-out.ts'
import { resolvePaths } from '../resolve-feedback.ts'
import { checkChangedPaths } from '../path-fence.ts'
import type { Phase } from '../phase.ts'
import { secretLines, unsearchedNotes } from '../secret-lines.ts'

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
    return recover(runContext, { kind: 'policy', violations }, { source: 'policy', policyViolations: violations })
  }
  const phase = runContext.goal.repoMode === 'direct' ? 'finish' : 'commit'
  const notes = unsearchedNotes(await secretLines(runContext, found))
  const verdict =
    run.verdict === null ? null : { ...run.verdict, notes: [...new Set([...run.verdict.notes, ...notes])] }
  await saveProgress(runContext, notes.length === 0 ? { phase } : { phase, verdict })
  return 'on'
}
