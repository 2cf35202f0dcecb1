/** Small worlds written by hand, for cases that once broke a promise: a seed's plan changes with the generator, these do not. */
import { noJudge, type Behaviour, type Fault, type GoalPlan, type Plan, type TaskPlan } from './plan.ts'

export const aTask = (id: string, behaviours: Behaviour[], more: Partial<TaskPlan> = {}): TaskPlan => ({
  ...{
    id,
    harness: 'claude',
    after: [],
    area: null,
    priority: 0,
    commands: ['npm test'],
    behaviours,
    answers: ['deny'],
    paths: [`src/${id}`],
  },
  worksMs: 4_000,
  ...{ judge: null, reviews: ['approve'], solves: ['solves'] },
  ...more,
})

export const aGoal = (tasks: TaskPlan[], more: Partial<GoalPlan> = {}): GoalPlan => ({
  ...{ id: 'g', atMs: 0, direct: false, autoMerge: false, judge: null, tasks },
  ...more,
})

export const aPlan = (goals: GoalPlan[], faults: Omit<Fault, 'id'>[] = [], events: Plan['events'] = []): Plan => ({
  ...{ seed: 'by hand', goals, events, maxParallel: 2, ttlSeconds: 60, transientLimit: 3, judge: noJudge },
  faults: faults.map((fault, index) => ({ ...fault, id: `f${index + 1}` })),
})
