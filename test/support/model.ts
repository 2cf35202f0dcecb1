/**
 * What an engine or a person may do to a world at a moment, each command as the single moves that stand in one transaction.
 * The same moves are played against a real store by test/store/model.test.ts.
 */
import type { ChoiceKind, Escalation } from '../../src/domain/escalation.ts'
import type { Goal, GoalState } from '../../src/domain/goal.ts'
import type { MergeEntry } from '../../src/domain/merge.ts'
import type { Run } from '../../src/domain/run.ts'
import { holdsAreas, taskEnded, type Task } from '../../src/domain/task.ts'
import { by, waitLimit, type Move, type World } from './world.ts'

const outrunLimit = 5

/** A paused goal merges nothing, so what waits there for its merge holds nothing. */
const holdsNow = (world: World, task: Task): boolean =>
  task.status === 'running' || (holdsAreas(task.status) && by(world.goals, task.goalId).state === 'active')

/** What the dispatcher would take for an idle agent. */
const claimable = (world: World): Task | undefined =>
  world.tasks
    .filter((task) => task.status === 'queued' && task.ready)
    .filter(
      (task) =>
        task.targetArea === null ||
        !world.tasks.some((other) => holdsNow(world, other) && other.targetArea === task.targetArea),
    )
    .sort((a, b) => b.priority - a.priority || a.id.localeCompare(b.id))[0]

const questionOf = (world: World, taskId: string): Escalation | undefined =>
  world.escalations.find((entry) => entry.taskId === taskId && entry.state === 'pending')

const askAbout = (world: World, task: Task, kind: Escalation['kind']): Move[] => [
  { entity: 'task', id: task.id, trigger: 'escalated' },
  { entity: 'ask', id: `q${world.escalations.length}`, goalId: task.goalId, taskId: task.id, kind },
]

const answerTo = (world: World, taskId: string, trigger: ChoiceKind): Move[] => {
  const pending = questionOf(world, taskId)
  return pending === undefined ? [] : [{ entity: 'answer', id: pending.id, trigger }]
}

const dropMerges = (world: World, taskId: string): Move[] =>
  world.merges
    .filter((entry) => entry.taskId === taskId && entry.state === 'pending')
    .map((entry): Move => ({ entity: 'merge', id: entry.id, trigger: 'cancelled' }))

const reopen = (goal: Goal): Move[] => {
  if (goal.state === 'awaiting_human') return [{ entity: 'goal', id: goal.id, trigger: 'answered' }]
  return goal.state === 'failed' ? [{ entity: 'goal', id: goal.id, trigger: 'retried' }] : []
}

const retryMoves = (world: World, task: Task, choice: ChoiceKind): Move[] => [
  { entity: 'task', id: task.id, trigger: 'retried', resetBudget: true },
  ...answerTo(world, task.id, choice),
]

const running = (world: World): Run[] => world.runs.filter((run) => run.state === 'running')

const cancelMoves = (world: World, task: Task): Move[] => [
  ...running(world)
    .filter((run) => run.taskId === task.id)
    .map((run): Move => ({ entity: 'run', id: run.id, trigger: 'cancelled' })),
  { entity: 'task', id: task.id, trigger: 'cancelled' },
  ...dropMerges(world, task.id),
  ...answerTo(world, task.id, 'cancel'),
]

const pickOf = <T>(list: readonly T[], pick: number): T | undefined => list[pick % Math.max(list.length, 1)]

type Rule = (world: World, pick: number) => Move[]

const onRun =
  (moves: (world: World, run: Run, task: Task) => Move[]): Rule =>
  (world, pick) => {
    const run = pickOf(running(world), pick)
    return run === undefined ? [] : moves(world, run, by(world.tasks, run.taskId))
  }

const onGoal =
  (states: readonly GoalState[], moves: (world: World, goal: Goal) => Move[]): Rule =>
  (world, pick) => {
    const goal = pickOf(
      world.goals.filter((entry) => states.includes(entry.state)),
      pick,
    )
    return goal === undefined ? [] : moves(world, goal)
  }

const onEntry =
  (moves: (world: World, entry: MergeEntry, task: Task) => Move[]): Rule =>
  (world, pick) => {
    const entry = pickOf(
      world.merges.filter((candidate) => candidate.state === 'processing'),
      pick,
    )
    return entry === undefined ? [] : moves(world, entry, by(world.tasks, entry.taskId))
  }

const unjudged = (world: World): Run[] =>
  world.runs.filter((run) => {
    const task = by(world.tasks, run.taskId)
    const active = by(world.goals, run.goalId).state === 'active'
    return (
      active &&
      run.state === 'success' &&
      run.judgedAt === null &&
      task.status === 'blocked(awaiting_judge)' &&
      task.epoch === run.epoch
    )
  })

const escalateRun = (kind: Escalation['kind']): Rule =>
  onRun((world, run, task) => {
    const goal = by(world.goals, task.goalId)
    const pauses = kind === 'blocker' && goal.state === 'active'
    return [
      { entity: 'run', id: run.id, trigger: 'failed' },
      ...askAbout(world, task, kind),
      ...(pauses ? [{ entity: 'goal', id: goal.id, trigger: 'blocked' } as const] : []),
    ]
  })

const requeueRun = (run: 'failed' | 'interrupted', trigger: string): Rule =>
  onRun((world, current, task) => {
    const end: Move = { entity: 'run', id: current.id, trigger: run }
    if ((world.waits.get(task.id) ?? 0) >= waitLimit) return [end, ...askAbout(world, task, 'exhausted')]
    return [end, { entity: 'task', id: task.id, trigger, ...(run === 'failed' ? { wait: true } : {}) }]
  })

const succeedRun: Rule = onRun((world, run, task) => {
  const direct = by(world.goals, task.goalId).repoMode === 'direct'
  return [
    { entity: 'run', id: run.id, trigger: 'succeeded' },
    ...(direct ? [{ entity: 'judge', runId: run.id } as const] : []),
    { entity: 'task', id: task.id, trigger: direct ? 'verdict_recorded' : 'run_succeeded' },
  ]
})

const lostDependents = (world: World, goal: Goal): Task[] =>
  world.tasks.filter(
    (task) =>
      task.goalId === goal.id &&
      task.status === 'queued' &&
      task.dependsOn.some((id) => by(world.tasks, id).status === 'cancelled'),
  )

/** Tasks that wait for a person, and all that wait behind them. */
const blockedOn = (world: World, goal: Goal): Set<string> => {
  const tasks = world.tasks.filter((task) => task.goalId === goal.id)
  const found = new Set(tasks.filter((task) => task.status === 'blocked(awaiting_human)').map((task) => task.id))
  for (const task of tasks)
    if (task.status === 'queued' && task.dependsOn.some((id) => found.has(id))) found.add(task.id)
  return found
}

const cycle: Rule = onGoal(['active'], (world, goal) => {
  const lost = lostDependents(world, goal)
  if (lost.length > 0) {
    return [
      ...lost.map((task): Move => ({ entity: 'task', id: task.id, trigger: 'dependency_cancelled' })),
      { entity: 'ask', id: `q${world.escalations.length}`, goalId: goal.id, taskId: null, kind: 'exhausted' },
    ]
  }
  const tasks = world.tasks.filter((task) => task.goalId === goal.id)
  const left = tasks.filter((task) => !taskEnded(task.status))
  if (left.length === 0) {
    const trigger = tasks.some((task) => task.status === 'cancelled') ? 'work_cancelled' : 'all_done'
    return [{ entity: 'goal', id: goal.id, trigger }]
  }
  const blocked = blockedOn(world, goal)
  return left.every((task) => blocked.has(task.id))
    ? [{ entity: 'goal', id: goal.id, trigger: 'only_questions_left' }]
    : []
})

const retriable = (task: Task): boolean =>
  ['blocked(awaiting_human)', 'blocked(quota_wait)', 'failed', 'cancelled'].includes(task.status)

const goalMove = (states: readonly GoalState[], trigger: string): Rule =>
  onGoal(states, (_world, goal) => [{ entity: 'goal', id: goal.id, trigger }])

/** The target moved under a goal, and work of it does not fit there. */
const outdated = (trigger: 'conflicted' | 'escalated'): Rule =>
  onGoal(['ready', 'active'], (world, goal) => {
    const task = world.tasks.find(({ id, goalId, status }) => {
      const isMerged = world.merges.some((entry) => entry.taskId === id && entry.state === 'merged')
      return goalId === goal.id && status === 'done' && isMerged && (world.waits.get(id) ?? 0) < waitLimit
    })
    if (task === undefined) return []
    return [
      ...(goal.state === 'ready' ? [{ entity: 'goal', id: goal.id, trigger: 'outdated' } as const] : []),
      ...(trigger === 'escalated'
        ? askAbout(world, task, 'merge_conflict')
        : [{ entity: 'task', id: task.id, trigger } as const]),
    ]
  })

/** What the engine does by itself. */
export const machine = {
  plan: goalMove(['planning'], 'planned'),
  claim: (world) => {
    const task = claimable(world)
    const agent = world.agents.find((entry) => entry.state === 'idle')
    return task === undefined || agent === undefined
      ? []
      : [{ entity: 'claim', agentId: agent.id, runId: `r${world.runs.length}`, taskId: task.id }]
  },
  succeed: succeedRun,
  wait: requeueRun('failed', 'run_failed'),
  park: requeueRun('failed', 'quota_reached'),
  interrupt: requeueRun('interrupted', 'interrupted'),
  exhaust: escalateRun('exhausted'),
  block: escalateRun('blocker'),
  approve: (world, pick) => {
    const run = pickOf(unjudged(world), pick)
    return run === undefined
      ? []
      : [
          { entity: 'judge', runId: run.id },
          { entity: 'enqueue', id: `m${world.merges.length}`, runId: run.id },
        ]
  },
  disapprove: (world, pick) => {
    const run = pickOf(unjudged(world), pick)
    return run === undefined
      ? []
      : [{ entity: 'judge', runId: run.id }, ...askAbout(world, by(world.tasks, run.taskId), 'exhausted')]
  },
  startMerge: (world, pick) => {
    const busy = new Set(world.merges.filter((entry) => entry.state === 'processing').map((entry) => entry.goalId))
    const waiting = world.merges.filter(
      (entry) =>
        entry.state === 'pending' && !busy.has(entry.goalId) && by(world.goals, entry.goalId).state === 'active',
    )
    const entry = pickOf(waiting, pick)
    return entry === undefined ? [] : [{ entity: 'merge', id: entry.id, trigger: 'claimed' }]
  },
  merge: onEntry((_world, entry, task) => [
    { entity: 'merge', id: entry.id, trigger: 'merged' },
    ...(task.status === 'blocked(awaiting_judge)' ? [{ entity: 'task', id: task.id, trigger: 'merged' } as const] : []),
  ]),
  conflict: onEntry((world, entry, task) => [
    { entity: 'merge', id: entry.id, trigger: 'failed' },
    ...(task.status === 'blocked(awaiting_judge)' ? askAbout(world, task, 'merge_conflict') : []),
  ]),
  conflictOnce: onEntry((world, entry, task) =>
    task.status === 'blocked(awaiting_judge)' && (world.waits.get(task.id) ?? 0) < waitLimit
      ? [
          { entity: 'merge', id: entry.id, trigger: 'failed' },
          { entity: 'task', id: task.id, trigger: 'conflicted' },
        ]
      : [],
  ),
  outdate: outdated('conflicted'),
  outdateAndAsk: outdated('escalated'),
  outrun: onEntry((_world, entry) =>
    entry.attempts < outrunLimit ? [{ entity: 'merge', id: entry.id, trigger: 'outrun' }] : [],
  ),
  due: (world, pick) => {
    const task = pickOf(
      world.tasks.filter(({ status }) => status === 'failed' || status === 'blocked(quota_wait)'),
      pick,
    )
    return task === undefined ? [] : [{ entity: 'task', id: task.id, trigger: 'retry_due' }]
  },
  cycle,
} as const satisfies Record<string, Rule>

/** What a person does, at any moment. */
export const person = {
  land: goalMove(['ready'], 'landed'),
  pause: goalMove(['active', 'awaiting_human'], 'paused'),
  resume: onGoal(['paused'], (world, goal) => [
    { entity: 'goal', id: goal.id, trigger: 'resumed' },
    ...world.tasks
      .filter((task) => task.goalId === goal.id && questionOf(world, task.id)?.kind === 'blocker')
      .flatMap((task) => retryMoves(world, task, 'resume')),
  ]),
  retry: (world, pick) => {
    const task = pickOf(world.tasks.filter(retriable), pick)
    if (task === undefined) return []
    const goal = by(world.goals, task.goalId)
    return ['cancelled', 'done', 'ready'].includes(goal.state)
      ? []
      : [...retryMoves(world, task, 'retry'), ...reopen(goal)]
  },
  cancelTask: (world, pick) => {
    const task = pickOf(
      world.tasks.filter((entry) => !taskEnded(entry.status)),
      pick,
    )
    if (task === undefined) return []
    const merging = world.merges.some((entry) => entry.taskId === task.id && entry.state === 'processing')
    const goal = by(world.goals, task.goalId)
    return merging ? [] : [...cancelMoves(world, task), ...(goal.state === 'awaiting_human' ? reopen(goal) : [])]
  },
  cancelGoal: onGoal(['planning', 'active', 'paused', 'awaiting_human', 'ready'], (world, goal) => [
    { entity: 'goal', id: goal.id, trigger: 'cancelled' },
    ...world.tasks
      .filter((task) => task.goalId === goal.id && !taskEnded(task.status))
      .flatMap((task) => cancelMoves(world, task)),
    ...world.escalations
      .filter((entry) => entry.goalId === goal.id && entry.taskId === null && entry.state === 'pending')
      .map((entry): Move => ({ entity: 'answer', id: entry.id, trigger: 'cancel' })),
  ]),
} as const satisfies Record<string, Rule>

export const commands: Readonly<Record<string, Rule>> = { ...machine, ...person }

export interface Command {
  kind: string
  pick: number
}

/** The moves of a command at this moment; none = there is nothing it could do. */
export const movesOf = (world: World, command: Command): Move[] => commands[command.kind]?.(world, command.pick) ?? []
