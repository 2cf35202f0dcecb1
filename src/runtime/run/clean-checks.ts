/**
 * Where the checks of a run look at its work: the collected tree in a clean clone that no agent has been in, with packages of
 * ours and what the owner's set-up makes. So nothing that git ignores, and nothing that changes after the collection, can make
 * a check pass.
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

/** The collected tree as a commit: a clone begins at one. */
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
  // It passed where the work began: now it is one more check of the work.
  return failed === undefined ? undefined : { kind: 'check', check: { ...failed.check, remaining } }
}

/** Makes the clone. What stands in the way is told; undefined also where the run was let go. */
export const layOut = async (session: Session, found: ChangeList, checks: number): Promise<NotReady | undefined> => {
  const { context, goal, paths, run } = session
  // In the user's own folder there is nothing but that folder to look at.
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

/** What the checks wrote is no part of the work. Whether it can be removed says nothing about that: the end of the run tries again. */
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

/** Tells of places in the agent's own workspace: the clean one is gone when it reads of them. */
export const asInWorkspace = <T>({ paths }: Session, told: T): T => {
  const inJson = (path: string): string => JSON.stringify(path).slice(1, -1)
  return JSON.parse(JSON.stringify(told).replaceAll(inJson(paths.checked), inJson(paths.workspace))) as T
}
