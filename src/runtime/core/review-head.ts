/** The newest commit of a branch that a task reviews, on the git remote where the repository is given by URL. */
import type { Goal } from '../../domain/goal.ts'
import type { Context } from './context.ts'
import { remoteLinkOf } from './remote-link.ts'

/** Undefined = there is no such branch. An outage of the remote is thrown. */
export const branchHead = async (context: Context, goal: Goal, branch: string): Promise<string | undefined> => {
  const ref = `refs/heads/${branch}`
  if (goal.repoMode === 'remote') return (await remoteLinkOf(context).fetchRefs([ref]))[ref]
  return (await context.ports.git.readRef(context.repository, ref)) ?? undefined
}
