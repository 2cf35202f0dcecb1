/**
 * Every task of a planned goal is done: before the goal ends, a planner compares what was asked with what was done. It is a task of the
 * lowest priority, so local work and the work of issues come first where agents are scarce.
 */
import type { Goal } from '../../domain/goal.ts'
import { replanPriority, wantsReplan } from '../../domain/replan.ts'
import type { Task } from '../../domain/task.ts'
import { appendEvent } from '../../store/event.ts'
import { insertTasks } from '../../store/task.ts'
import { requireAsRead } from '../core/as-read.ts'
import type { Context } from '../core/context.ts'
import { maxTitle } from '../core/task-fields.ts'

/** True = the goal has a task more. */
export const beginReplan = async (context: Context, goal: Goal, tasks: readonly Task[]): Promise<boolean> => {
  // In place there is no commit before the work that it could be compared with.
  const plan = tasks.find((task) => task.plan !== null && task.status === 'done')
  if (goal.repoMode === 'direct' || plan === undefined) return false
  const most = context.config().planner.replans
  if (!wantsReplan(tasks, most)) return false
  const number = Math.max(...tasks.map((task) => task.number)) + 1
  const { instructions, role, allowedPaths, deniedPaths, commandSource, targetArea, harness, model, judge } = plan
  const { contextFiles, originalCommands: commands } = plan
  await context.db.transaction(async (tx) => {
    await requireAsRead(tx, goal, tasks)
    const id = context.newId('t')
    await insertTasks(tx, [
      {
        ...{ id, goalId: goal.id, number, plan: 'replan' },
        title: `Look for what is missing: ${goal.title}`.slice(0, maxTitle),
        ...{ instructions, role, allowedPaths, deniedPaths, commandSource, targetArea, harness, model, judge },
        ...{ contextFiles, commands, dependsOn: [], priority: plan.priority + replanPriority },
      },
    ])
    const round = tasks.filter((task) => task.plan === 'replan').length + 1
    await appendEvent(tx, {
      type: 'planner.replan_triggered',
      ...{ goalId: goal.id, taskId: id },
      payload: { reason: 'local task backlog == 0', round, most, head: goal.headCommit },
    })
  })
  context.wake()
  return true
}
