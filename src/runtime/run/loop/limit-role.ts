/**
 * What a role may change is enforced after its turn, not left to its instructions: its other changes are kept as a snapshot and put
 * back, and reported.
 */
import type { LoopState } from '../../../domain/loop.ts'
import { pathMatcher } from '../../../recovery/policy/path-rule.ts'
import { requireLease } from '../../../store/run.ts'
import { appendEvent } from '../../../store/event.ts'
import type { ChangeList } from '../../../workspace/repository-types.ts'
import { collectNow } from '../../agent/collected.ts'
import { keepSnapshot } from '../../agent/stop-agent.ts'
import { takeReports } from '../../agent/turn-reports.ts'
import { pathRulesOf } from '../../core/effective-paths.ts'
import { workTreeOf, type RunContext } from '../../core/run-context.ts'

/** Whether the role may change a path of the repository. What the worker may change is decided when the work is complete. */
const mayChange = ({ context }: RunContext, { role }: LoopState): ((path: string) => boolean) => {
  if (role === 'worker') return () => true
  if (role !== 'planner') return () => false
  const matchers = pathRulesOf(context.config().loop.plan_files).map(pathMatcher)
  return (path) => matchers.some((matches) => matches(path))
}

const record = async ({ context, run }: RunContext, loop: LoopState, paths: string[], reports: string[]) =>
  context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await appendEvent(tx, {
      type: 'loop.changes_put_back',
      ...{ goalId: run.goalId, taskId: run.taskId, runId: run.id },
      payload: { iteration: loop.iteration, role: loop.role, paths, reports },
    })
  })

/** The work after the turn, with only the changes that the role may make. Can be repeated after a crash. */
export const limitRole = async (runContext: RunContext, loop: LoopState, found: ChangeList): Promise<ChangeList> => {
  const { context } = runContext
  const { git } = context.ports
  const before = loop.before ?? found.tree
  const allows = mayChange(runContext, loop)
  const changed = (await git.changesBetween(context.shadow, before, found.tree)).map(({ path }) => path)
  const refused = changed.filter((path) => !allows(path))
  if (refused.length === 0) {
    const reports = takeReports(runContext, loop.role)
    if (reports.length > 0) await record(runContext, loop, [], reports)
    return found
  }
  await keepSnapshot(runContext, `before changes of the ${loop.role} are put back`)
  const kept = await git.buildTree(context.shadow, { base: before, tree: found.tree, paths: changed.filter(allows) })
  const reports = takeReports(runContext, loop.role)
  await record(runContext, loop, refused, reports)
  await git.revertFiles(context.shadow, { before: kept, after: found.tree, workTree: workTreeOf(runContext) })
  return collectNow(runContext)
}
