/** Phase `policy`: stops changes outside the task's paths before they reach a commit. */
import { collectedWork } from '../../agent/collected.ts'
import { save } from '../../core/session.ts'
import { holdLease } from '../../../store/run.ts'
import { recover } from '../carry-out.ts'
import { settlePaths } from '../feedback.ts'
import { checkFence } from '../fence.ts'
import type { Phase } from '../phase.ts'
import { secretLines, unsearchedNotes } from '../secret-lines.ts'

/** Compares the changed paths with those of the task; any violation goes to the ladder. */
export const policy: Phase = async (session) => {
  const found = await collectedWork(session)
  const result = await checkFence(session, found)
  const { context, run } = session
  await context.db.transaction(async (tx) => {
    await holdLease(tx, run)
    await settlePaths(
      tx,
      session,
      result.violations.map(({ path }) => path),
    )
  })
  if (result.violations.length > 0) {
    const violations = result.violations.map(({ path, kind, rule }) => ({ path, kind, rule }))
    return recover(session, { kind: 'policy', violations }, { source: 'policy', policyViolations: violations })
  }
  const phase = session.goal.repoMode === 'direct' ? 'finish' : 'commit'
  const notes = unsearchedNotes(await secretLines(session, found))
  const verdict =
    run.verdict === null ? null : { ...run.verdict, notes: [...new Set([...run.verdict.notes, ...notes])] }
  await save(session, notes.length === 0 ? { phase } : { phase, verdict })
  return 'on'
}
