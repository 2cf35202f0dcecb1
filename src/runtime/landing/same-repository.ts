/**
 * Whether the repository at this path is the one that the goals began in. Another git directory alone says nothing: a copy or a
 * backup makes one too, and brings the goals' branches along. Where a goal's branch did not come along, its owner is asked.
 */
import type { Goal } from '../../domain/goal.ts'
import type { Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { listUnendedGoals } from '../../store/goal.ts'
import { noteDirectory, seenDirectory } from '../../store/repository.ts'
import { goalBranch, goalRef, type Context } from '../core/context.ts'
import { noteBroken, noteMended } from './broken-branch.ts'

const detail = 'the git directory is a new one, and the branch of the goal is not in it'

const settle = async (context: Context, goal: Goal, isThere: boolean): Promise<void> => {
  const { broken } = goal.landing
  if (!isThere) await noteBroken(context, goal.id, { reason: 'replaced', detail })
  else if (broken?.reason === 'replaced' && !broken.again) await noteMended(context, goal.id)
}

const note = (tx: Queryable, host: string, before: string, now: string): Promise<void> =>
  appendEvent(tx, { type: 'repository.replaced', payload: { host, before, now } })

/** False = there is no repository at its path now, and nothing is to be learnt about any goal. */
export const checkRepository = async (context: Context): Promise<boolean> => {
  const { db, host, repository, ports } = context
  if (context.remote !== undefined || repository.commonDir === null) return true
  const now = await ports.git.directoryOf(repository)
  if (now === undefined) return false
  const before = await seenDirectory(db, host)
  if (before === now) return true
  if (before !== undefined) {
    const refs = await ports.git.readRefs(repository, `refs/heads/${goalBranch('')}`)
    // Before it is noted: a crash in between begins here again.
    for (const goal of await listUnendedGoals(db)) await settle(context, goal, refs[goalRef(goal.id)] !== undefined)
  }
  await db.transaction(async (tx) => {
    if ((await noteDirectory(tx, host, now)) && before !== undefined) await note(tx, host, before, now)
  })
  return true
}
