/** Goal branches in the repository, whether or not the store knows their goals. */
import type { Goal, TaskView } from '../../api/contract.ts'
import { isGoalBranch } from '../../domain/goal.ts'
import type { Io } from '../io.ts'
import type { Client } from './client.ts'
import type { Home } from './home.ts'

export interface GoalBranch {
  name: string
  goalId: string
  head: string
}

export interface UnknownBranch extends GoalBranch {
  /** The user's branch has all of it, so there is nothing to take over. */
  isOnBranch: boolean
}

/** Empty for a repository by URL, whose goal branches are on its remote. */
export const goalBranchesOf = async ({ repository }: Home): Promise<GoalBranch[]> => {
  if (repository.url !== undefined) return []
  const { readRefs } = await import('../../workspace/refs.ts')
  // Of every prefix that was ever set: the store that knew it may be lost.
  const refs = Object.entries(await readRefs(repository, 'refs/heads/')).filter(([ref]) => isGoalBranch(ref))
  return refs.map(([ref, head]) => ({
    name: ref.slice('refs/heads/'.length),
    goalId: ref.slice(ref.lastIndexOf('/') + 1),
    head,
  }))
}

/** Branches whose goal this store does not know, and which it has not taken over before. */
export const unknownBranches = async (client: Client, home: Home): Promise<UnknownBranch[]> => {
  const branches = await goalBranchesOf(home)
  if (branches.length === 0) return []
  const known = new Set((await client.all<Goal>('/goals')).map(({ id }) => id))
  const reviewed = (await client.all<TaskView>('/tasks')).map(({ review }) =>
    review !== null && 'branch' in review ? review.branch : '',
  )
  const { isContainedIn } = await import('../../workspace/history.ts')
  const { repository } = home
  const found: UnknownBranch[] = []
  for (const branch of branches) {
    if (known.has(branch.goalId) || reviewed.includes(branch.name)) continue
    const isOnBranch = repository.head !== null && (await isContainedIn(repository, branch.head, repository.head))
    found.push({ ...branch, isOnBranch })
  }
  return found
}

/** Tells a person whose first engine starts that an earlier store left these branches. Otherwise the loss of that store would go unnoticed. */
export const tellOfLeftBranches = async (io: Io, client: Client, home: Home): Promise<void> => {
  const [first, ...more] = (await unknownBranches(client, home)).filter(({ isOnBranch }) => !isOnBranch)
  if (first === undefined) return
  const named = more.length === 0 ? `the branch ${first.name}` : `${first.name} and ${more.length} more goal branches`
  io.error(
    `note: this store is new, and nothing is known of ${named}, which an earlier one left. Have the work checked and taken over: unstuck store rebuild\n`,
  )
}
