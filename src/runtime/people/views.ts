/** What people are shown, composed from the store. Reads only; used by the API and by commands that open the store themselves. */
import { limitedAccounts } from '../../store/account.ts'
import { listAgents } from '../../store/agent.ts'
import { listEngines } from '../../store/engine.ts'
import { leaderNow, type Leader } from '../../store/leader.ts'
import type { Queryable } from '../../store/db.ts'
import { listEscalations } from '../../store/escalation.ts'
import { lastEventId, readEvents, storeNow } from '../../store/event.ts'
import { getGoal, listGoals, listShownGoals } from '../../store/goal.ts'
import { listMergesOf } from '../../store/merge.ts'
import { countRecoveries, listRecoveries, openWaits } from '../../store/recovery.ts'
import { listRuns, listRunsOf } from '../../store/run.ts'
import { holdingTasks, listTasks, listTasksOf } from '../../store/task.ts'
import { allowedGoalActions, allowedTaskActions } from '../../domain/allowed-actions.ts'
import type { EngineInfo } from '../../domain/engine.ts'
import type { Escalation } from '../../domain/escalation.ts'
import { endedShown, type Goal } from '../../domain/goal.ts'
import { stillRed, type Run } from '../../domain/run.ts'
import { redOfGoal } from '../../domain/still-red.ts'
import { addSpend, noSpend } from '../../domain/budget.ts'
import { holdsAreas, stateOf, type Task } from '../../domain/task.ts'
import { goneText, landCommandNow, type FindBranches } from '../landing/goal-branch.ts'
import { goalBranch } from '../core/context.ts'
import { nextStepOf, type TaskFacts, type TaskStep } from './next-step.ts'

const shownStep = (step: TaskStep | undefined) =>
  step === undefined
    ? null
    : { owner: step.owner, text: step.text, ...(step.at === undefined ? {} : { at: step.at.toISOString() }) }

const engineView = (engine: EngineInfo, leader: Leader, now: Date) => ({
  ...engine,
  leads: leader.engineId === engine.id && engine.state !== 'offline',
  silent: engine.state !== 'offline' && now.getTime() - engine.heartbeatAt.getTime() > engine.ttlSeconds * 1000,
})

/** A task with its countdown as seconds, for readers whose clock is another. */
export const withCountdown = (task: Task, now: Date) => ({
  ...task,
  retry:
    task.retry === null
      ? null
      : { ...task.retry, inSeconds: Math.max(0, Math.ceil((task.retry.at.getTime() - now.getTime()) / 1000)) },
})

const shownRun = (run: Run | undefined) =>
  run === undefined
    ? null
    : {
        ...{ id: run.id, number: run.number, state: run.state, phase: run.phase, startedAt: run.startedAt },
        endedAt: run.endedAt,
        outcome: run.verdict?.outcome ?? null,
        notes: run.verdict?.notes ?? [],
      }

/** What is kept by a key, in the order of the list. */
const groups = <T>(list: readonly T[], keyOf: (entry: T) => string | null): ((key: string) => T[]) => {
  const found = Map.groupBy(list, keyOf)
  return (key) => found.get(key) ?? []
}

/** Per task only what its next step may depend on: thousands of tasks that each look at all others would hold up the engine. */
const stepsOf = (
  facts: Omit<TaskFacts, 'task' | 'goal'>,
  paused: ReadonlySet<string>,
): ((task: Task, goal: Goal) => TaskStep | undefined) => {
  // A paused goal merges nothing, and holds nothing for it.
  const holding = facts.tasks.filter(
    ({ place, goalId }) => place === 'running' || (holdsAreas(place) && !paused.has(goalId)),
  )
  const tasks = new Map(facts.tasks.map((task) => [task.id, task]))
  const runs = groups(facts.runs, (run) => run.taskId)
  const merges = groups(facts.merges, (entry) => entry.taskId)
  const escalations = groups(facts.escalations, (entry) => entry.taskId)
  return (task, goal) => {
    const needed = task.dependsOn.flatMap((id) => tasks.get(id) ?? [])
    const near = { runs: runs(task.id), merges: merges(task.id), escalations: escalations(task.id) }
    return nextStepOf({ ...facts, ...near, task, goal, tasks: [...needed, ...holding] })
  }
}

/** How a ready goal is landed. The branch that it may name is looked for first, which is a process, so only where one is named. */
const landings = async (goals: readonly Goal[], find: FindBranches | undefined) => {
  const ready = goals.filter(({ state }) => state === 'ready')
  const named = ready.some(({ targetBranch }) => targetBranch === null)
  const present = named && find !== undefined ? await find() : new Set<string>()
  return (goal: Goal): Pick<Goal, 'reason'> & { mergeCommand: string | null } => {
    const mergeCommand = goal.state === 'ready' ? landCommandNow(goal, present) : null
    const isGone = goal.state === 'ready' && mergeCommand === null
    return { reason: isGone ? goneText(goal) : goal.reason, mergeCommand }
  }
}

type Shared = Required<Pick<TaskFacts, 'engines' | 'limits'>> & { tasks: Task[]; escalations: Escalation[]; now: Date }

const goalViews = async (db: Queryable, goals: Goal[], shared: Shared, find: FindBranches | undefined) => {
  const { tasks, now } = shared
  const landingOf = await landings(goals, find)
  const ids = goals.map(({ id }) => id)
  const [runs, merges, recoveries, waits] = [
    await listRunsOf(db, ids),
    await listMergesOf(db, ids),
    await countRecoveries(db, ids),
    await openWaits(db),
  ]
  const [tasksOf, runsOf] = [groups(tasks, (task) => task.goalId), groups(runs, (run) => run.taskId)]
  const [allRunsOf, mergesOf] = [groups(runs, (run) => run.goalId), groups(merges, (entry) => entry.goalId)]
  const stepOf = stepsOf(
    { ...shared, runs, merges, waits },
    new Set(goals.flatMap(({ id, state }) => (state === 'paused' ? [id] : []))),
  )
  return goals.map((goal) => ({
    ...goal,
    branch: goalBranch(goal.id),
    actions: allowedGoalActions(goal, tasksOf(goal.id)),
    tasks: tasksOf(goal.id).map((task) => ({
      ...withCountdown(task, now),
      state: stateOf(task.place),
      run: shownRun(runsOf(task.id).at(-1)),
      recoveries: recoveries.get(task.id) ?? 0,
      nextStep: shownStep(stepOf(task, goal)),
      actions: allowedTaskActions({ task, goal, escalations: shared.escalations, merges: mergesOf(goal.id) }),
    })),
    stillFailing: redOfGoal(allRunsOf(goal.id), mergesOf(goal.id)),
    ...landingOf(goal),
  }))
}

/** The open questions, the engines and the limits of accounts: what the views of goals share. */
const around = async (db: Queryable) => {
  const [escalations, found, leader, limits, now] = [
    await listEscalations(db, { pendingOnly: true }),
    await listEngines(db),
    await leaderNow(db),
    await limitedAccounts(db),
    await storeNow(db),
  ]
  return { escalations, engines: found.map((engine) => engineView(engine, leader, now)), limits, now }
}

/**
 * Goals with their tasks and next steps, the open questions and the agents: every goal that has not ended, and the `ended`
 * newest of those that have. A store keeps thousands of them, and whoever watches asks every few seconds.
 */
export const statusView = async (db: Queryable, ended: number, find?: FindBranches) => {
  // Read first: whoever follows the events from here on misses nothing that this picture lacks.
  const lastEvent = await lastEventId(db)
  const { goals: shown, leftOut } = await listShownGoals(db, ended)
  const ids = shown.map(({ id }) => id)
  const shared = { ...(await around(db)), tasks: await listTasksOf(db, ids) }
  const goals = await goalViews(db, shown, shared, find)
  const { escalations, engines, limits, now } = shared
  const at = now.toISOString()
  const agents = await listAgents(db)
  return { at, lastEvent, goals, endedLeftOut: leftOut, escalations, agents, engines, limits }
}

/** One goal as in `statusView`, or undefined. */
export const goalView = async (db: Queryable, id: string, find?: FindBranches) => {
  const goal = await getGoal(db, id)
  if (goal === undefined) return undefined
  const others = (await holdingTasks(db)).filter(({ goalId }) => goalId !== id)
  const shared = { ...(await around(db)), tasks: [...(await listTasks(db, id)), ...others] }
  return (await goalViews(db, [goal], shared, find))[0]
}

/** The work of these goals' tasks, each at the commit that it is now. */
const workOf = async (db: Queryable, goals: readonly Goal[]) => {
  const ids = goals.map(({ id }) => id)
  const done = new Map((await listTasksOf(db, ids)).flatMap((task) => (task.place === 'done' ? [[task.id, task]] : [])))
  const verdicts = new Map((await listRunsOf(db, ids)).map(({ id, verdict }) => [id, verdict]))
  // A task that was done again has an older entry, whose commit is nowhere any more.
  const newest = new Map((await listMergesOf(db, ids)).map((entry) => [entry.taskId, entry]))
  return [...newest.values()]
    .filter(({ taskId, state }) => state === 'merged' && done.has(taskId))
    .map(({ goalId, taskId, runId, landedCommit }) => ({
      ...{ goal: goalId, task: taskId, title: done.get(taskId)?.title ?? '', commit: landedCommit },
      outcome: verdicts.get(runId)?.outcome ?? null,
      stillFailing: stillRed(verdicts.get(runId)?.checks ?? []),
    }))
}

const landedSince = async (db: Queryable, since: Date) => {
  const goals = await listGoals(db)
  return workOf(
    db,
    goals.filter(({ state, endedAt }) => state === 'done' && endedAt !== null && endedAt >= since),
  )
}

/** Waits for nobody but the user: everything is done, and nothing of it is on his branch. */
const readyNow = (goals: readonly (Goal & { mergeCommand: string | null })[]) =>
  goals
    .filter(({ state }) => state === 'ready')
    .map(({ id, title, mergeCommand }) => ({ goal: id, title, command: mergeCommand ?? 'unstuck status' }))

const recoveredSince = async (db: Queryable, since: Date) =>
  (await listRecoveries(db, null))
    .filter((entry) => entry.startedAt >= since)
    .map((entry) => ({
      playbook: entry.playbook,
      label: entry.label,
      status: entry.status,
      action: entry.action.name,
      task: entry.taskId,
      ms: entry.decidedAt === null ? null : entry.decidedAt.getTime() - entry.startedAt.getTime(),
      detail: entry.detail,
    }))

const spentSince = async (db: Queryable, since: Date) =>
  (await listRuns(db, {}))
    .filter((run) => (run.endedAt ?? run.startedAt) >= since)
    .reduce((sum, { spend }) => addSpend(sum, spend), noSpend)

/** What happened since a time: landed, recovered, waiting, spent. */
export const reportView = async (db: Queryable, since: Date, find?: FindBranches) => {
  const status = await statusView(db, 0, find)
  const tasks = status.goals.flatMap((goal) => goal.tasks)
  return {
    since: since.toISOString(),
    until: status.at,
    landed: await landedSince(db, since),
    ready: readyNow(status.goals),
    recovered: await recoveredSince(db, since),
    waiting: status.escalations.map((entry) => ({
      goal: entry.goalId,
      task: entry.taskId,
      question: entry.question,
      choices: entry.choices.map(({ command }) => command),
    })),
    retrying: tasks.flatMap(({ id, title, retry }) =>
      retry === null ? [] : [{ task: id, title, at: retry.at.toISOString(), reason: retry.reason }],
    ),
    spent: await spentSince(db, since),
  }
}

/** Promise 1, checked on the live store: every task that has not ended has a next step with an owner. */
export const stuckTasks = async (db: Queryable): Promise<{ id: string; place: string }[]> => {
  // A failed goal among them may be an older one.
  const status = await statusView(db, endedShown.most)
  const living = status.goals.filter((goal) => goal.state !== 'cancelled' && goal.state !== 'done')
  return living.flatMap((goal) =>
    goal.tasks.filter((task) => task.nextStep === null).map((task) => ({ id: task.id, place: task.place })),
  )
}

/** All events of a goal, task or run in pages, so that a long story is not cut at a page. */
export const allEvents = async (db: Queryable, filter: { goalId?: string; taskId?: string; runId?: string }) => {
  const found = []
  for (let after = 0; ;) {
    const page = await readEvents(db, { ...filter, after, limit: 500 })
    found.push(...page)
    if (page.length < 500) return found
    after = page.at(-1)?.id ?? after
  }
}
