/** The question about a plan that a person wanted to see before its tasks begin. */
import type { Goal } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { getGoal, moveGoal } from '../../store/goal.ts'
import { listTasks } from '../../store/task.ts'
import { cancelChoice, planAgainChoice, startPlanChoice } from '../core/choices.ts'
import type { Context } from '../core/context.ts'

const taskLines = (tasks: readonly Task[]): string[] =>
  tasks.flatMap(({ id, number, title, allowedPaths, commands, dependsOn }) => {
    const after = tasks.filter((other) => dependsOn.includes(other.id)).map((other) => other.number)
    return [
      `${number}. ${title}${after.length === 0 ? '' : ` (after ${after.join(', ')})`} [${id}]`,
      `   may change ${allowedPaths.join(', ')}${commands.length === 0 ? '' : `; checks: ${commands.join(', ')}`}`,
    ]
  })

const changeLine = 'To change a task first: unstuck edit <task>'

/** Holds the goal up with the question, in the transaction that adds the tasks. */
export const askAboutPlan = async (context: Context, tx: Queryable, { id }: Goal, notes: readonly string[]) => {
  const goal = await getGoal(tx, id)
  if (goal?.state !== 'active') return
  const tasks = (await listTasks(tx, id)).filter(({ status, plan }) => status === 'queued' && plan === null)
  const count = tasks.length === 1 ? '1 task' : `${tasks.length} tasks`
  const happened = `The plan of goal "${goal.title}" has ${count} and waits for you.`
  mustSucceed(await moveGoal(tx, goal, 'blocked', happened))
  await openEscalation(tx, {
    ...{ id: context.newId('q'), goalId: id, taskId: null, runId: null, kind: 'plan_review', happened, tried: [] },
    ...{
      question: happened,
      details: [...taskLines(tasks), ...notes.map((note) => `Note: ${note}`), changeLine].join('\n'),
    },
    choices: [startPlanChoice(id), planAgainChoice(id), cancelChoice(id)],
  })
}
