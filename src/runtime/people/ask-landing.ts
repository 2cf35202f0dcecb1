/** A person has a goal land: `unstuck land`. */
import type { Goal } from '../../domain/goal.ts'
import { AppError } from '../../errors.ts'
import { appendEvent } from '../../store/event.ts'
import { progressGoal } from '../../store/goal.ts'
import type { Context } from '../core/context.ts'
import { findBranches, missingBranchText, landCommand, usableLandCommand } from '../landing/goal-branch.ts'
import { goalNamed } from './commands.ts'

/** Requests the landing of a ready goal, also if `autoMerge` is off. The engine lands it and stores the result with the goal. */
export const landGoal = async (context: Context, id: string): Promise<Goal> => {
  const present = await findBranches(context)()
  await context.db.transaction(async (tx) => {
    const goal = await goalNamed(tx, id)
    if (goal.state === 'done') return
    if (goal.state !== 'ready')
      throw new AppError(
        'ILLEGAL',
        `goal ${id} is ${goal.state}, and only a ready goal can land; "unstuck status" shows what it waits for`,
      )
    if (goal.targetBranch === null)
      throw new AppError(
        'ILLEGAL',
        `goal ${id} was started on no branch (HEAD was detached); check out the branch that is to have it, then: ${usableLandCommand(goal, present) ?? missingBranchText(goal)}`,
      )
    await progressGoal(tx, id, { reason: landCommand(goal), landing: { asked: true, tries: 0, refused: null } })
    await appendEvent(tx, { type: 'goal.landing_asked', goalId: id, payload: { branch: goal.targetBranch } })
  })
  context.wake()
  return goalNamed(context.db, id)
}
