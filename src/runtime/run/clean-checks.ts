/**
 * Makes the workspace in which checks run: the collected tree in a clean clone that no agent has touched, with our
 * packages and the result of the owner's set-up. Files that git ignores, and changes after the collection, can
 * therefore not make a check pass.
 */
import { join } from 'node:path'
import { messageOf } from '../../errors.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import type { ChangeList } from '../../workspace/contract.ts'
import { makeClean, runSetup } from '../checks/fresh-workspace.ts'
import { tendPackages } from '../checks/tend-packages.ts'
import { bothSignals, letGo, type Session } from '../core/session.ts'
import { wantInstalls } from './needed-installs.ts'
import { carryOutRepairs, placeOfChecks } from './repair.ts'

/** The collected tree as a commit, because a clone needs one to start from. */
const commitOf = (session: Session, { base, tree }: Pick<ChangeList, 'base' | 'tree'>): Promise<string> =>
  session.context.ports.git.buildCommit(session.context.shadow, {
    ...{ base, tree, subject: 'The work as it is checked', body: '', trailers: {} },
  })

export type NotReady = { kind: 'copy'; text: string } | { kind: 'check'; check: ObservedCheck }

const setUp = async (session: Session, remaining: number): Promise<NotReady | undefined> => {
  const { context, paths } = session
  const folder = join(paths.root, 'setup-of-checks')
  context.ports.files.rmSync(folder, { recursive: true, force: true })
  const request = { ...placeOfChecks(session), folder: (number: number) => join(folder, String(number)) }
  const failed = await runSetup(request, context.config().workspace)
  // The set-up passed on the base commit, so on the work it counts as one more check.
  return failed === undefined ? undefined : { kind: 'check', check: { ...failed.check, remaining } }
}

/** Makes the clone. Returns why it is not usable; undefined = it is ready, or the run was stopped. */
export const layOut = async (session: Session, found: ChangeList, checks: number): Promise<NotReady | undefined> => {
  const { context, goal, paths, run } = session
  // Work in place has no clone: the checks run in the user's folder.
  if (goal.repoMode === 'direct') return undefined
  const { copyProblem } = await makeClean(context.ports, {
    ...context,
    ...{ commit: await commitOf(session, found), workspace: paths.checked, branch: `unstuck/check/${run.id}` },
    signal: bothSignals(session),
  })
  if (copyProblem !== undefined) return { kind: 'copy', text: `workspace.copy: ${copyProblem}` }
  const failed = await setUp(session, checks)
  if (failed !== undefined || letGo(session)) return failed
  await wantInstalls(session, found)
  await carryOutRepairs(session)
  return undefined
}

/**
 * Removes the clone: files that checks wrote are not part of the work. A failure is only logged, because the end of
 * the run removes it again.
 */
export const discard = async ({ context, goal, paths, run }: Session): Promise<void> => {
  if (goal.repoMode === 'direct') return
  try {
    await context.ports.git.removeWorkspace(paths.checked)
    void tendPackages(context)
  } catch (error) {
    if (!context.stopping.aborted)
      context.log.warn({ run: run.id, error: messageOf(error) }, 'the clone of the checks could not be removed')
  }
}

/** Rewrites paths of the clean clone to the agent's workspace: the clone is gone when the agent reads the text. */
export const asInWorkspace = <T>({ paths }: Session, report: T): T => {
  const inJson = (path: string): string => JSON.stringify(path).slice(1, -1)
  return JSON.parse(JSON.stringify(report).replaceAll(inJson(paths.checked), inJson(paths.workspace))) as T
}
