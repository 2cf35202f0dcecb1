/**
 * Whether the work of a goal is on a branch, however it came there: as the goal's own commits, as one squashed commit, or by hand.
 * Anybody can write a trailer, so a trailer only names the commit to look at. The content is the proof: merging the goal's work
 * into that commit changes nothing.
 */
import type { Goal } from '../../domain/goal.ts'
import { listMerges } from '../../store/merge.ts'
import type { Context } from '../core/context.ts'

/** How many commits of the branch are searched for trailers. */
const mostSearched = 500

interface Work {
  base: string
  head: string
}

const addsNothing = async ({ ports: { git }, shadow }: Context, { base, head }: Work, to: string): Promise<boolean> => {
  const tree = await git.treeOf(shadow, head)
  if (tree === (await git.treeOf(shadow, base))) return false
  const text = { subject: 'The work of the goal', body: '', trailers: {} }
  const whole = await git.buildCommit(shadow, { base, tree, ...text })
  const merged = await git.mergedTree(shadow, { commit: whole, onto: to })
  return merged.conflicts.length === 0 && merged.tree === (await git.treeOf(shadow, to))
}

/** The newest commit of the branch that names a task of the goal as its own, for the case that later commits changed the same lines. */
const namedCommit = async (context: Context, goal: Goal, { base }: Work, tip: string): Promise<string | undefined> => {
  const { ports, repository, db } = context
  const tasks = (await listMerges(db, { goalId: goal.id })).map(({ taskId }) => taskId)
  const commits = await ports.git.commitsBetween(repository, { head: base, tip }, mostSearched)
  // A squash indents the messages of the commits, or joins them to a list.
  const names = ({ message }: { message: string }): boolean =>
    [...message.matchAll(/^[ \t]*Unstuck-Task: (\S+)/gm)].some(([, id = '']) => tasks.includes(id))
  return commits.find(names)?.commit
}

/** False also where it cannot be known: objects that are missing here, or a head that was never made. */
export const isWorkOn = async (context: Context, goal: Goal, tip: string): Promise<boolean> => {
  const { ports, repository, shadow } = context
  const { baseCommit: base, headCommit: head } = goal
  if (head === null) return false
  if (await ports.git.isBelow(repository, head, tip)) return true
  if (base === null) return false
  for (const commit of [base, head, tip])
    if (!(await ports.git.isCommitOf(shadow.gitDir, { commit, below: null, not: null }))) return false
  const work = { base, head }
  if (await addsNothing(context, work, tip)) return true
  const named = await namedCommit(context, goal, work, tip)
  return named !== undefined && named !== tip && addsNothing(context, work, named)
}
