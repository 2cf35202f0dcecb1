/**
 * What an agent left, as it was collected before verification could write. The tree is in the run's row; the rest is kept
 * in memory and looked at again only when another engine takes the run up.
 */
import { visiblePath } from '../../recovery/policy/fold.ts'
import { madeBy } from '../../recovery/install.ts'
import type { ChangeList } from '../../workspace/contract.ts'
import { copiedPatterns } from '../checks/fresh-workspace.ts'
import { workTreeOf, type Session } from '../core/session.ts'
import { readPrepared } from './prepared.ts'

/** What the owner's set-up made and nothing changed since is as little work as the base commit is. */
const withoutSetup = async ({ context }: Session, found: ChangeList, setupTree: string): Promise<ChangeList> => {
  const { git } = context.ports
  const since = new Set((await git.changesBetween(context.shadow, setupTree, found.tree)).map(({ path }) => path))
  const changes = found.changes.filter(({ path }) => since.has(path))
  if (changes.length === found.changes.length) return found
  const paths = changes.map(({ path }) => path)
  return { ...found, changes, tree: await git.buildTree(context.shadow, { base: found.base, tree: found.tree, paths }) }
}

/** The work as it is now. */
export const workNow = async (session: Session): Promise<ChangeList> => {
  const { copied, setupTree } = readPrepared(session)
  const found = await session.context.ports.git.captureTree(session.context.shadow, {
    base: session.run.baseCommit ?? '',
    workTree: workTreeOf(session),
    indexFile: session.paths.index,
    // What was installed for the checks is no work, whether the repository ignores it or not.
    exclude: [...madeBy(session.run.verdict?.installed ?? []), ...copiedPatterns(copied)],
  })
  return setupTree === null ? found : withoutSetup(session, found, setupTree)
}

/** For people: what an agent left and no commit holds. */
export const leftOutNotes = (found: ChangeList | undefined): string[] =>
  (found?.leftOut ?? []).map(({ path, reason }) => `${visiblePath(path)} is not part of the work: ${reason}`)

export const isUnchanged = ({ changes, nestedRepositories, leftOut }: ChangeList): boolean =>
  changes.length === 0 && nestedRepositories.length === 0 && leftOut.every(({ encoding }) => encoding === undefined)

export const collectNow = async (session: Session): Promise<ChangeList> => {
  session.collected = await workNow(session)
  return session.collected
}

export const collectedWork = async (session: Session): Promise<ChangeList> => {
  const { collected, run } = session
  if (collected !== undefined && collected.tree === run.tree) return collected
  const base = run.baseCommit ?? ''
  const tree = run.tree ?? ''
  const now = await workNow(session)
  const changes = await session.context.ports.git.changesBetween(session.context.shadow, base, tree)
  session.collected = { base, tree, changes, nestedRepositories: now.nestedRepositories, leftOut: now.leftOut }
  return session.collected
}
