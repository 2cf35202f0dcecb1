/**
 * What a person may do with a task or a goal now. Views send it, so that no client restates a rule. The commands check again
 * in their own transaction, because the state may change between the view and the command.
 */
import { offersChoice, type Escalation } from './escalation.ts'
import type { Flow } from './flow.ts'
import { goalEnded, goalFlow, isLanding, isOnItsWay, isToLand, waitsForBranch, type Goal } from './goal.ts'
import type { MergeEntry } from './merge.ts'
import { waitsForAutoFix } from './rework.ts'
import { taskEnded, taskFlow, type Task } from './task.ts'

/** Each is also a command: `unstuck <action> <id>`. */
export const taskActions = ['approve', 'reject', 'give-back', 'tell', 'retry', 'take-over', 'edit', 'cancel'] as const
export type TaskAction = (typeof taskActions)[number]

/** Each is also a command: `unstuck <action> <id>`. */
export const goalActions = ['land', 'resume', 'pause', 'retry', 'cancel'] as const
export type GoalAction = (typeof goalActions)[number]

export interface TaskActionFacts {
  task: Task
  goal: Goal
  /** Open questions; those of other tasks are ignored. */
  escalations: readonly Escalation[]
  /** Merge entries; those of other tasks are ignored. */
  merges: readonly MergeEntry[]
}

const personMay = ({ rows }: Flow, from: string, trigger: string): boolean =>
  rows.some((row) => row.from === from && row.trigger === trigger && row.owner === 'person')

/** The open question is about finished work, and offers this. */
const isOffered = ({ task, goal, escalations }: TaskActionFacts, kind: 'approve' | 'reject'): boolean => {
  const trigger = goal.repoMode === 'direct' ? 'approved_in_place' : 'approved'
  if (goalEnded(goal.state) || !personMay(taskFlow, task.status, trigger)) return false
  const question = escalations.find(({ taskId, state }) => taskId === task.id && state === 'pending')
  return question !== undefined && question.runId !== null && offersChoice(question, kind)
}

/** A failed goal is opened again by work on its tasks; nothing revives a goal that is done, ready or cancelled. */
const mayWorkStart = ({ state }: Goal): boolean => state === 'failed' || !goalEnded(state)

/** Taking over again a task that a person has already taken over returns its folder once more. */
const isTakeable = ({ task, goal }: TaskActionFacts): boolean =>
  mayWorkStart(goal) &&
  // Reviewed work is corrected where it comes from.
  task.review === null &&
  !waitsForAutoFix(task) &&
  (task.status === 'blocked(awaiting_human)' || personMay(taskFlow, task.status, 'taken_over'))

/** While the merge queue merges a task, its work may already be on the goal branch. */
const isBeingMerged = ({ task, merges }: TaskActionFacts): boolean =>
  task.status === 'blocked(awaiting_judge)' &&
  merges.some(({ taskId, state }) => taskId === task.id && state === 'processing')

const taskRules: Record<TaskAction, (facts: TaskActionFacts) => boolean> = {
  approve: (facts) => isOffered(facts, 'approve'),
  reject: (facts) => isOffered(facts, 'reject'),
  'give-back': ({ task }) => task.takenOver !== null && personMay(taskFlow, task.status, 'given_back'),
  // Whether its agent is still at work is known to the run alone. A planner is asked once, and reads nothing meanwhile.
  tell: ({ task }) => task.status === 'running' && task.plan === null,
  // The work of a superseded task is done by the task that continues it.
  retry: ({ task, goal }) =>
    mayWorkStart(goal) &&
    task.supersededBy === null &&
    !waitsForAutoFix(task) &&
    personMay(taskFlow, task.status, 'retried'),
  'take-over': isTakeable,
  edit: ({ task }) => !taskEnded(task.status) && !waitsForAutoFix(task),
  cancel: (facts) => personMay(taskFlow, facts.task.status, 'cancelled') && !isBeingMerged(facts),
}

/** In the order of `taskActions`. */
export const allowedTaskActions = (facts: TaskActionFacts): TaskAction[] =>
  taskActions.filter((action) => taskRules[action](facts))

/** What a person has taken over is retried only by its own id. */
const isRetriedWithGoal = (task: Task): boolean =>
  task.takenOver === null &&
  task.supersededBy === null &&
  !waitsForAutoFix(task) &&
  personMay(taskFlow, task.status, 'retried')

const goalRules: Record<GoalAction, (goal: Goal, tasks: readonly Task[]) => boolean> = {
  // A goal that is landing accepts the command again, without effect.
  land: (goal, tasks) =>
    goal.targetBranch !== null &&
    (goal.state === 'ready' ? !isLanding(goal) : isOnItsWay(goal, tasks) && !isToLand(goal)),
  resume: ({ state }) => personMay(goalFlow, state, 'resumed'),
  pause: ({ state }) => personMay(goalFlow, state, 'paused'),
  retry: (goal, tasks) => goal.state !== 'cancelled' && (tasks.some(isRetriedWithGoal) || waitsForBranch(goal)),
  cancel: ({ state }) => personMay(goalFlow, state, 'cancelled'),
}

/** In the order of `goalActions`; `tasks` are those of the goal. */
export const allowedGoalActions = (goal: Goal, tasks: readonly Task[]): GoalAction[] =>
  goalActions.filter((action) => goalRules[action](goal, tasks))
