/** The newest commit of a branch that a task reviews, on the git remote where the repository is given by URL. */
import type { Goal } from '../../domain/goal.ts'
import type { Context } from './context.ts'
import { remoteLinkOf } from './remote-link.ts'

export const branchRef = (branch: string): string => `refs/heads/${branch}`

/** In the repository of the machine. Undefined = there is no such branch. */
export const localHead = async (context: Context, branch: string): Promise<string | undefined> =>
  (await context.ports.git.readRef(context.repository, branchRef(branch))) ?? undefined

/** Undefined = there is no such branch. An outage of the remote is thrown. */
export const branchHead = async (context: Context, goal: Goal, branch: string): Promise<string | undefined> => {
  if (goal.repoMode !== 'remote') return localHead(context, branch)
  const ref = branchRef(branch)
  return (await remoteLinkOf(context).fetchRefs([ref]))[ref]
}
