/**
 * Makes the workspace in which checks run: the collected tree in a clean clone that no agent has touched, with our
 * packages and the result of the owner's set-up. Files that git ignores, and changes after the collection, can
 * therefore not make a check pass.
 */
import { join } from 'node:path'
import { messageOf } from '../../errors.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import { makeCleanWorkspace, runSetup } from '../checks/fresh-workspace.ts'
import { prepareAhead } from '../checks/prepare-ahead.ts'
import { treePool } from '../core/context.ts'
import { stopSignal, isReleased, type RunContext } from '../core/run-context.ts'
import { planInstalls } from './install-needed.ts'
import { installForChecks, commandContext } from './repair.ts'
import { runProposed, type UnknownOutcome } from './run-proposal.ts'

/** The collected tree as a commit, because a clone needs one to start from. */
const commitOf = (runContext: RunContext, { base, tree }: Pick<ChangeList, 'base' | 'tree'>): Promise<string> =>
  runContext.context.ports.git.buildCommit(runContext.context.shadow, {
    ...{ base, tree, subject: 'The work as it is checked', body: '', trailers: {} },
  })

export type CheckWorkspaceProblem =
  | { kind: 'copy'; text: string }
  | { kind: 'check'; check: ObservedCheck }
  | UnknownOutcome

const setUp = async (runContext: RunContext, remaining: number): Promise<CheckWorkspaceProblem | undefined> => {
  const { context, paths } = runContext
  const folder = join(paths.root, 'setup-of-checks')
  context.ports.files.rmSync(folder, { recursive: true, force: true })
  const request = { ...commandContext(runContext), folder: (number: number) => join(folder, String(number)) }
  const failed = await runSetup(request, context.config().workspace)
  // The set-up passed on the base commit, so on the work it counts as one more check.
  return failed === undefined ? undefined : { kind: 'check', check: { ...failed.check, remaining } }
}

/** The set-up fails, which may be what an approved command repairs; without one nothing has changed. */
const setUpAgain = async (
  runContext: RunContext,
  { found, checks, failed }: { found: ChangeList; checks: number; failed: CheckWorkspaceProblem },
): Promise<CheckWorkspaceProblem | undefined> => {
  const ran = await runProposed(runContext, found)
  if (typeof ran !== 'boolean') return ran
  if (!ran) return failed
  return isReleased(runContext) ? undefined : setUp(runContext, checks)
}

const runBeforeChecks = async (runContext: RunContext, found: ChangeList): Promise<UnknownOutcome | undefined> => {
  const ran = await runProposed(runContext, found)
  return typeof ran === 'boolean' ? undefined : ran
}

/** Makes the clone. Returns why it is not usable; undefined = it is ready, or the run was stopped. */
export const makeCheckWorkspace = async (
  runContext: RunContext,
  found: ChangeList,
  checks: number,
): Promise<CheckWorkspaceProblem | undefined> => {
  const { context, goal, paths, run } = runContext
  // Work in place has no clone: the checks run in the user's folder, and so does an approved command.
  if (goal.repoMode === 'direct') return runBeforeChecks(runContext, found)
  const { copyProblem } = await makeCleanWorkspace(context.ports, {
    ...context,
    ...{ commit: await commitOf(runContext, found), workspace: paths.checked, branch: `unstuck/check/${run.id}` },
    signal: stopSignal(runContext),
  })
  if (copyProblem !== undefined) return { kind: 'copy', text: `workspace.copy: ${copyProblem}` }
  const failed = await setUp(runContext, checks)
  if (isReleased(runContext)) return failed
  const still = failed === undefined ? undefined : await setUpAgain(runContext, { found, checks, failed })
  if (still !== undefined || isReleased(runContext)) return still
  await planInstalls(runContext, found)
  await installForChecks(runContext)
  // Before the set-up they have run already, and a command runs once in a clone.
  return isReleased(runContext) || failed !== undefined ? undefined : runBeforeChecks(runContext, found)
}

/**
 * Removes the clone: files that checks wrote are not part of the work. A failure is only logged, because the end of
 * the run removes it again.
 */
export const discardCheckWorkspace = async ({ context, goal, paths, run }: RunContext): Promise<void> => {
  if (goal.repoMode === 'direct') return
  try {
    await context.ports.git.returnWorkspace(paths.checked, treePool(context))
    void prepareAhead(context)
  } catch (error) {
    if (!context.stopping.aborted)
      context.log.warn({ run: run.id, error: messageOf(error) }, 'the clone of the checks could not be removed')
  }
}

/** Rewrites paths of the clean clone to the agent's workspace: the clone is gone when the agent reads the text. */
export const withAgentPaths = <T>({ paths }: RunContext, report: T): T => {
  const inJson = (path: string): string => JSON.stringify(path).slice(1, -1)
  return JSON.parse(JSON.stringify(report).replaceAll(inJson(paths.checked), inJson(paths.workspace))) as T
}
