/**
 * Detects that the repository at this path was replaced since the goals began. A changed git directory alone proves
 * nothing: a copy or a restored backup has a new one and still contains the goals' branches. Only if the branch of a
 * goal is missing is its owner asked.
 */
import type { Goal } from '../../domain/goal.ts'
import type { Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { listUnendedGoals } from '../../store/goal.ts'
import { recordDirectory, recordedDirectory } from '../../store/repository-directory.ts'
import { goalRef, type Context } from '../core/context.ts'
import { goalRefs } from './goal-branch.ts'
import { recordBrokenBranch, recordRepairedBranch } from './broken-branch.ts'

const detail = 'the git directory was replaced, and the new one does not contain the branch of this goal'

const updateGoal = async (context: Context, goal: Goal, isThere: boolean): Promise<void> => {
  const { broken } = goal.landing
  if (!isThere) await recordBrokenBranch(context, goal.id, { reason: 'replaced', detail })
  else if (broken?.reason === 'replaced' && !broken.again) await recordRepairedBranch(context, goal.id)
}

const appendReplaced = (tx: Queryable, host: string, before: string, now: string): Promise<void> =>
  appendEvent(tx, { type: 'repository.replaced', payload: { host, before, now } })

/** False = there is no repository at the path now, so nothing can be concluded about any goal. */
export const detectReplacedRepository = async (context: Context): Promise<boolean> => {
  const { db, host, repository, ports } = context
  if (context.remote !== undefined || repository.commonDir === null) return true
  const now = await ports.git.directoryOf(repository)
  if (now === undefined) return false
  const before = await recordedDirectory(db, host)
  if (before === now) return true
  if (before !== undefined) {
    const goals = await listUnendedGoals(db)
    const refs = await goalRefs(ports, repository, goals)
    // Before the new directory is recorded: a crash in between repeats this step.
    for (const goal of goals) await updateGoal(context, goal, refs[goalRef(goal)] !== undefined)
  }
  await db.transaction(async (tx) => {
    if ((await recordDirectory(tx, host, now)) && before !== undefined) await appendReplaced(tx, host, before, now)
  })
  return true
}
