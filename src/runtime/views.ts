/** What people are shown, composed from the store. Reads only; used by the API and by commands that open the store themselves. */
import { limitedAccounts } from '../store/account.ts'
import { listAgents } from '../store/agent.ts'
import { listEngines } from '../store/engine.ts'
import { leaderNow, type Leader } from '../store/leader.ts'
import type { Queryable } from '../store/db.ts'
import { listEscalations } from '../store/escalation.ts'
import { lastEventId, readEvents, storeNow } from '../store/event.ts'
import { listGoals } from '../store/goal.ts'
import { listMerges } from '../store/merge.ts'
import { countRecoveries, listRecoveries } from '../store/recovery.ts'
import { listRuns } from '../store/run.ts'
import { listTasks } from '../store/task.ts'
import type { EngineInfo } from '../domain/engine.ts'
import type { Run } from '../domain/run.ts'
import { stateOf, type Task } from '../domain/task.ts'
import { mergeCommand } from './cycle.ts'
import { goalBranch } from './context.ts'
import { nextStepOf, type TaskStep } from './next-step.ts'

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
    : { id: run.id, number: run.number, state: run.state, phase: run.phase, startedAt: run.startedAt }

/** Every goal with its tasks and their next steps, the open questions and the agents. */
export const statusView = async (db: Queryable) => {
  // Read first: whoever follows the events from here on misses nothing that this picture lacks.
  const lastEvent = await lastEventId(db)
  const [goals, tasks, runs, merges, escalations, agents, found, leader, recoveries, limits, now] = [
    await listGoals(db),
    await listTasks(db, null),
    await listRuns(db, {}),
    await listMerges(db, {}),
    await listEscalations(db, { pendingOnly: true }),
    await listAgents(db),
    await listEngines(db),
    await leaderNow(db),
    await countRecoveries(db),
    await limitedAccounts(db),
    await storeNow(db),
  ]
  const engines = found.map((engine) => engineView(engine, leader, now))
  const views = goals.map((goal) => {
    const own = tasks.filter((task) => task.goalId === goal.id)
    const view = (task: Task) => ({
      ...withCountdown(task, now),
      state: stateOf(task.place),
      run: shownRun(runs.findLast((run) => run.taskId === task.id)),
      recoveries: recoveries.get(task.id) ?? 0,
      nextStep: shownStep(nextStepOf({ task, goal, tasks, runs, merges, escalations, engines, limits })),
    })
    return {
      ...goal,
      branch: goalBranch(goal.id),
      tasks: own.map(view),
      mergeCommand: goal.state === 'ready' ? mergeCommand(goal) : null,
    }
  })
  return { at: now.toISOString(), lastEvent, goals: views, escalations, agents, engines, limits }
}

/** What happened since a time: landed, recovered, waiting, spent. */
export const reportView = async (db: Queryable, since: Date) => {
  const status = await statusView(db)
  const tasks = status.goals.flatMap((goal) => goal.tasks)
  const titleOf = (id: string | null): string => tasks.find((task) => task.id === id)?.title ?? ''
  const merges = (await listMerges(db, { state: 'merged' })).filter((entry) => entry.changedAt >= since)
  const recoveries = (await listRecoveries(db, null)).filter((entry) => entry.startedAt >= since)
  const runs = (await listRuns(db, {})).filter((run) => (run.endedAt ?? run.startedAt) >= since)
  return {
    since: since.toISOString(),
    until: status.at,
    landed: merges.map((entry) => ({
      goal: entry.goalId,
      task: entry.taskId,
      title: titleOf(entry.taskId),
      commit: entry.landedCommit,
    })),
    recovered: recoveries.map((entry) => ({
      playbook: entry.playbook,
      label: entry.label,
      status: entry.status,
      action: entry.action.name,
      task: entry.taskId,
      ms: entry.decidedAt === null ? null : entry.decidedAt.getTime() - entry.startedAt.getTime(),
      detail: entry.detail,
    })),
    waiting: status.escalations.map((entry) => ({
      goal: entry.goalId,
      task: entry.taskId,
      question: entry.question,
      choices: entry.choices,
    })),
    retrying: tasks.flatMap((task) =>
      task.retry === null
        ? []
        : [{ task: task.id, title: task.title, at: task.retry.at.toISOString(), reason: task.retry.reason }],
    ),
    spent: runs.reduce(
      (sum, run) => ({
        tokens: sum.tokens + run.spend.tokens,
        costUsd: sum.costUsd + run.spend.costUsd,
        seconds: sum.seconds + run.spend.seconds,
      }),
      {
        tokens: 0,
        costUsd: 0,
        seconds: 0,
      },
    ),
  }
}

/** Promise 1, checked on the live store: every task that has not ended has a next step with an owner. */
export const stuckTasks = async (db: Queryable): Promise<{ id: string; place: string }[]> => {
  const status = await statusView(db)
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
