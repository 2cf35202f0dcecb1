/**
 * What an agent left, as it was collected before verification could write. The tree is in the run's row; the rest is kept
 * in memory and looked at again only when another engine takes the run up.
 */
import { madeBy } from '../../recovery/install.ts'
import type { ChangeList } from '../../workspace/contract.ts'
import { workTreeOf, type Session } from '../core/session.ts'

const capture = (session: Session): Promise<ChangeList> =>
  session.context.ports.git.captureTree(session.context.shadow, {
    base: session.run.baseCommit ?? '',
    workTree: workTreeOf(session),
    indexFile: session.paths.index,
    // What was installed for the checks is no work, whether the repository ignores it or not.
    exclude: madeBy(session.run.verdict?.installed ?? []),
  })

export const isUnchanged = ({ changes, nestedRepositories }: ChangeList): boolean =>
  changes.length === 0 && nestedRepositories.length === 0

export const collectNow = async (session: Session): Promise<ChangeList> => {
  session.collected = await capture(session)
  return session.collected
}

export const collectedWork = async (session: Session): Promise<ChangeList> => {
  const { collected, run } = session
  if (collected !== undefined && collected.tree === run.tree) return collected
  const base = run.baseCommit ?? ''
  const tree = run.tree ?? ''
  const now = await capture(session)
  const changes = await session.context.ports.git.changesBetween(session.context.shadow, base, tree)
  session.collected = { base, tree, changes, nestedRepositories: now.nestedRepositories, leftOut: now.leftOut }
  return session.collected
}
