/**
 * A check that fails while the work has changes outside its task, such as a file that an earlier attempt left: it runs once without them.
 * If it passes, they are the cause, and they could not land anyway, so they are left out and no agent is called for them.
 */
import { faultOfMachine } from '../../recovery/probe.ts'
import type { Violation } from '../../recovery/policy/path-policy.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import type { JudgedReport } from '../checks/check-runner.ts'
import type { PlannedChecks } from '../checks/verify-contract.ts'
import type { RunContext } from '../core/run-context.ts'
import { chooseStoredRecovery } from '../core/store-record.ts'
import { carryOut } from './carry-out.ts'
import { failedWithout } from './check-work.ts'
import { isIterationTest } from './loop/iteration-tests.ts'
import { checkChangedPaths } from './path-fence.ts'
import type { PhaseResult } from './phase.ts'
import { policyOptions } from './policy-options.ts'

/** Changes that the task may not make, without those that a rule allows. Denied paths and secrets are never left out in silence. */
const outsideOf = async (runContext: RunContext, found: ChangeList): Promise<Violation[]> => {
  const { violations } = await checkChangedPaths(runContext, found)
  const outside = violations.filter(({ kind }) => kind === 'outside')
  if (outside.length === 0) return []
  const { allow = [] } = await policyOptions(runContext, found, outside)
  return outside.filter(({ path }) => !allow.some((each) => each.path === path))
}

/** Undefined = there are none, or it fails without them as well: the failure is diagnosed as any other. */
export const leaveOutsideOut = async (
  runContext: RunContext,
  found: ChangeList,
  { planned, report }: { planned: PlannedChecks; report: JudgedReport },
): Promise<PhaseResult | undefined> => {
  const { failed } = report
  // In place nothing is left out: a file there is the user's.
  const { context, goal, run } = runContext
  if (failed === undefined || failed.timedOut || goal.repoMode === 'direct' || isIterationTest(run)) return undefined
  // The owner switched the recovery of paths off.
  if (context.config().policyRecovery.attempts === 0) return undefined
  // It may pass the next time whatever the work has.
  if (faultOfMachine(failed) !== undefined) return undefined
  const violations = await outsideOf(runContext, found)
  const paths = violations.map(({ path }) => path)
  if (paths.length === 0 || paths.length === found.changes.length) return undefined
  const without = await failedWithout(runContext, { planned, found, paths }, report)
  if (without?.state !== 'passes') return undefined
  const because = `it is outside of the allowed paths, and ${failed.command} fails with it and passes without it`
  const exclude = paths.map((path) => ({ path, because }))
  const evidence = { kind: 'policy', violations, options: { exclude } } as const
  const { diagnosis, step } = await chooseStoredRecovery(context, run, evidence)
  // Without it (its budget is spent, or it is switched off) the check decides how the task goes on, not the paths.
  if (step.kind !== 'recover' || step.action.type !== 'exclude_paths') return undefined
  return carryOut(runContext, { diagnosis, step })
}
