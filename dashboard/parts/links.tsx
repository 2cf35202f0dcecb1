/** Links to a goal and a task, named as people know them. */
import type { Goal, Task } from '../logic/board.ts'
import { linkTo } from '../logic/route.ts'
import { Said } from './basics.tsx'

export const GoalLink = ({ goal }: { goal: Goal }) => (
  <a href={linkTo.goal(goal.id)}>
    <Said text={goal.title} />
  </a>
)

export const TaskLink = ({ task }: { task: Task }) => (
  <a href={linkTo.task(task.id)}>
    #{task.number} <Said text={task.title} />
  </a>
)
