/** Links to a goal and a task, named as people know them. */
import type { BoardGoal, BoardTask } from '../logic/board.ts'
import { linkTo } from '../logic/route.ts'
import { SafeText } from './basics.tsx'
import { readableTitle } from '../../src/api/contract.ts'

export const GoalLink = ({ goal }: { goal: BoardGoal }) => (
  <a href={linkTo.goal(goal.id)}>
    <SafeText text={goal.title} />
  </a>
)

export const TaskLink = ({ task }: { task: BoardTask }) => (
  <a href={linkTo.task(task.id)}>
    #{task.number} <SafeText text={readableTitle(task.title)} />
  </a>
)
