/**
 * The changes of an agent, collected before verification can write to the workspace. The tree is stored in the run's row. The list of
 * changes is kept in memory and computed again only when another engine re-attaches to the run.
 */
import { visiblePath } from '../../recovery/policy/fold.ts'
import { madeBy } from '../../recovery/install.ts'
import type { ChangeList } from '../../workspace/contract.ts'
import { copiedPatterns } from '../checks/fresh-workspace.ts'
import { workTreeOf, type Session } from '../core/session.ts'
import { readPrepared } from './prepared.ts'

/** Files that `workspace.setup` made and that did not change since are not the agent's work. */
const withoutSetup = async ({ context }: Session, found: ChangeList, setupTree: string): Promise<ChangeList> => {
  const { git } = context.ports
  const since = new Set((await git.changesBetween(context.shadow, setupTree, found.tree)).map(({ path }) => path))
  const changes = found.changes.filter(({ path }) => since.has(path))
  if (changes.length === found.changes.length) return found
  const paths = changes.map(({ path }) => path)
  return { ...found, changes, tree: await git.buildTree(context.shadow, { base: found.base, tree: found.tree, paths }) }
}

/** The changes in the workspace now, against the base commit, without set-up files, copied files and installed packages. */
export const workNow = async (session: Session): Promise<ChangeList> => {
  const { copied, setupTree } = readPrepared(session)
  const found = await session.context.ports.git.captureTree(session.context.shadow, {
    base: session.run.baseCommit ?? '',
    workTree: workTreeOf(session),
    indexFile: session.paths.index,
    // Packages that were installed for the checks are not work, also in a repository that does not ignore them.
    exclude: [...madeBy(session.run.verdict?.installed ?? []), ...copiedPatterns(copied)],
  })
  return setupTree === null ? found : withoutSetup(session, found, setupTree)
}

/** For people: files of the agent that git cannot store, with the reason. */
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
