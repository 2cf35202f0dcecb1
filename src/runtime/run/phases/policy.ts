/** Phase `policy`: nothing outside of the task's paths may reach a commit. */
import { collectedWork } from '../../agent/collected.ts'
import { save } from '../../core/session.ts'
import { holdLease } from '../../../store/run.ts'
import { recover } from '../carry-out.ts'
import { settlePaths } from '../feedback.ts'
import { checkFence } from '../fence.ts'
import type { Phase } from '../phase.ts'

export const policy: Phase = async (session) => {
  const result = await checkFence(session, await collectedWork(session))
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
  await save(session, { phase: session.goal.repoMode === 'direct' ? 'finish' : 'commit' })
  return 'on'
}
