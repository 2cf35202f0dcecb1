/** The views for people, composed from the store. Reads only; used by the API, with and without an engine. */
import { limitedAccounts } from '../../store/account.ts'
import { tasksHoldingAreas } from '../../store/area-hold.ts'
import { listAgents } from '../../store/agent.ts'
import { listEngines } from '../../store/engine.ts'
import { commandRecords } from '../../store/command-record.ts'
import { configPlace } from '../../store/config-state.ts'
import { currentLeader, type Leader } from '../../store/leader.ts'
import type { Queryable } from '../../store/db.ts'
import { listEscalations } from '../../store/escalation.ts'
import { readEvents, stableUpTo, storeNow } from '../../store/event.ts'
import { getGoal, listGoals, listShownGoals } from '../../store/goal.ts'
import { readHatch } from '../../store/hatch.ts'
import { undeliveredChannels } from '../../store/notification.ts'
import { openJudgementsOf } from '../../store/judgement.ts'
import { listMergesOf } from '../../store/merge.ts'
import { hourTokensNow, laneLeases, waitingFeatures } from '../../store/queue.ts'
import { countRecoveries, openWaits } from '../../store/recovery.ts'
import { listRunsOf } from '../../store/run.ts'
import { listSchedules } from '../../store/schedule.ts'
import { listTasks, listTasksOf } from '../../store/task.ts'
import { spentSince } from '../../store/spent.ts'
import type { AccountLimit } from '../../domain/account.ts'
import type { QueueFacts } from '../../domain/claimability.ts'
import { defaultLanes, type LaneLimits } from '../../domain/dispatch.ts'
import { allowedGoalActions, allowedTaskActions } from '../../domain/allowed-actions.ts'
import type { EngineInfo } from '../../domain/engine.ts'
import type { Escalation } from '../../domain/escalation.ts'
import type { Goal } from '../../domain/goal.ts'
import { defaultJudgeRetries } from '../../domain/judgement.ts'
import { preexistingFailures } from '../../domain/run.ts'
import { preexistingFailuresOfGoal } from '../../domain/preexisting-failures.ts'
import { waitsForAutoFix } from '../../domain/rework.ts'
import { shownSchedule } from '../../domain/schedule.ts'
import { stateOf, type Task } from '../../domain/task.ts'
import type { CommandLists } from '../../recovery/proposal/match.ts'
import { suggestedCommands } from '../../recovery/proposal/suggestions.ts'
import {
  findBranches,
  missingBranchText,
  partCommand,
  usableLandCommand,
  type FindBranches,
} from '../landing/goal-branch.ts'
import { configuredChannels } from '../../domain/notification.ts'
import { goalBranch, type Context } from '../core/context.ts'
import { foreignLimits } from '../harness/accounts.ts'
import { failingTargets } from './failing-targets.ts'
import { noticesOf } from './notices.ts'
import { recoveredSince, reworkedSince } from './report-parts.ts'
import { proofOf, shownRun } from './shown-run.ts'
import { withCountdown } from './task-countdown.ts'
import { waitingOn, type TaskFacts, type WaitingOn } from './waiting-on.ts'
import { defined } from '../../domain/defined.ts'

/** Settings that decide why a task waits. */
export interface QueueSettings {
  lanes: LaneLimits
  failover: readonly string[]
  /** Of accounts, met by other repositories. */
  foreignLimits?: readonly AccountLimit[]
  /** The setting `limits.hourTokens`; absent = no limit. */
  hourTokens?: number
}

export interface ViewOptions {
  /** Reads the goal branches. Absent = a landing command that names one is left out. */
  find?: FindBranches
  /** Absent = the defaults. */
  queue?: QueueSettings
  /** The setting `judge.retries`. Absent = the default. */
  judgeRetries?: number
  /** The configured channels of notifications. */
  channels?: readonly string[]
  /** The owner's lists of commands. Absent = no command is suggested. */
  commands?: Pick<CommandLists, 'auto_approve' | 'require_human'>
  /** Whose configuration is reported on. Absent = none. */
  place?: string
}

/** What the views depend on besides the store. */
export const viewOptions = (
  context: Pick<Context, 'clock' | 'config' | 'environment' | 'repository' | 'ports' | 'host' | 'stateDir'>,
): ViewOptions => {
  const { lanes, harness, limits, recovery, judge } = context.config()
  const { hourTokens } = limits
  const queue = {
    ...{ lanes, failover: harness.failover ?? [], foreignLimits: foreignLimits(context) },
    ...defined({ hourTokens }),
  }
  const commands = recovery ?? { auto_approve: [], require_human: [] }
  return {
    ...{ find: findBranches(context), queue, channels: configuredChannels(context.config()), commands },
    ...{ judgeRetries: judge.retries, place: configPlace(context) },
  }
}

const nextStepView = (wait: WaitingOn | undefined) =>
  wait === undefined
    ? null
    : {
        ...{ owner: wait.owner, text: wait.text },
        ...(wait.at === undefined ? {} : { at: wait.at.toISOString() }),
        ...defined({ waitsFor: wait.waitsFor }),
      }

const engineView = (engine: EngineInfo, leader: Leader, now: Date) => ({
  ...engine,
  leads: leader.engineId === engine.id && engine.state !== 'offline',
  silent: engine.state !== 'offline' && now.getTime() - engine.heartbeatAt.getTime() > engine.ttlSeconds * 1000,
})

/** Groups a list by a key; entries keep their order. */
const groups = <T>(list: readonly T[], keyOf: (entry: T) => string | null): ((key: string) => T[]) => {
  const found = Map.groupBy(list, keyOf)
  return (key) => found.get(key) ?? []
}

/** Gives each task only the rows that concern it: thousands of tasks that each scan all others would block the engine. */
const waitsOf = (facts: Omit<TaskFacts, 'task' | 'goal'>): ((task: Task, goal: Goal) => WaitingOn | undefined) => {
  const tasks = new Map(facts.tasks.map((task) => [task.id, task]))
  const runs = groups(facts.runs, (run) => run.taskId)
  const merges = groups(facts.merges, (entry) => entry.taskId)
  const judgements = groups(facts.judgements ?? [], (entry) => entry.taskId)
  const children = groups(facts.tasks, (task) => task.rework?.parent ?? null)
  const line = (id: string): Task[] => children(id).flatMap((child) => [child, ...line(child.id)])
  const escalations = groups(facts.escalations, (entry) => entry.taskId)
  const ofGoals = groups(facts.escalations, (entry) => (entry.taskId === null ? entry.goalId : null))
  return (task, goal) => {
    const named = [...task.dependsOn, task.supersededBy ?? ''].flatMap((id) => tasks.get(id) ?? [])
    const needed = [...named, ...(waitsForAutoFix(task) ? line(task.id) : [])]
    const asked = task.status === 'cancelled' ? ofGoals(goal.id) : escalations(task.id)
    const own = {
      ...{ runs: runs(task.id), merges: merges(task.id), escalations: asked, judgements: judgements(task.id) },
    }
    return waitingOn({ ...facts, ...own, task, goal, tasks: needed })
  }
}

/** How each ready goal is landed. Reading the branches starts a git process, so that is done only for goals that need them. */
const landings = async (goals: readonly Goal[], find: FindBranches | undefined) => {
  const ready = goals.filter(({ state }) => state === 'ready')
  const named = ready.some(({ targetBranch }) => targetBranch === null)
  const present = named && find !== undefined ? await find() : new Set<string>()
  return (goal: Goal): Pick<Goal, 'reason'> & { mergeCommand: string | null } => {
    const mergeCommand = goal.state === 'ready' ? usableLandCommand(goal, present) : null
    const isGone = goal.state === 'ready' && mergeCommand === null
    return { reason: isGone ? missingBranchText(goal) : goal.reason, mergeCommand }
  }
}

interface Shared {
  queue: QueueFacts
  tasks: Task[]
  escalations: Escalation[]
  judgeOff: boolean
  now: Date
}

const goalViews = async (db: Queryable, goals: Goal[], shared: Shared, options: ViewOptions) => {
  const { tasks, now } = shared
  const { find, judgeRetries = defaultJudgeRetries } = options
  const landingOf = await landings(goals, find)
  const ids = goals.map(({ id }) => id)
  const [runs, merges, recoveries, waits, judgements] = [
    await listRunsOf(db, ids),
    await listMergesOf(db, ids),
    await countRecoveries(db, ids),
    await openWaits(db),
    await openJudgementsOf(db, { goalIds: ids }),
  ]
  const [tasksOf, runsOf] = [groups(tasks, (task) => task.goalId), groups(runs, (run) => run.taskId)]
  const [allRunsOf, mergesOf] = [groups(runs, (run) => run.goalId), groups(merges, (entry) => entry.goalId)]
  const waitOf = waitsOf({ ...shared, runs, merges, waits, judgements })
  const judgementsOf = groups(judgements, (entry) => entry.taskId)
  return goals.map((goal) => ({
    ...goal,
    branch: goalBranch(goal),
    actions: allowedGoalActions(goal, tasksOf(goal.id)),
    tasks: tasksOf(goal.id).map((task) => ({
      ...withCountdown(task, { now, judgements: judgementsOf(task.id), judgeRetries }),
      state: stateOf(task.status),
      run: shownRun(runsOf(task.id).at(-1)),
      recoveries: recoveries.get(task.id) ?? 0,
      nextStep: nextStepView(waitOf(task, goal)),
      actions: allowedTaskActions({ task, goal, escalations: shared.escalations, merges: mergesOf(goal.id) }),
    })),
    stillFailing: preexistingFailuresOfGoal(allRunsOf(goal.id), mergesOf(goal.id)),
    ...landingOf(goal),
    partCommand: partCommand(goal, tasksOf(goal.id)),
  }))
}

/** What the queued tasks of the store compete for at this moment. */
export const queueFacts = async (db: Queryable, now: Date, settings?: QueueSettings) => {
  const {
    lanes,
    failover,
    hourTokens,
    foreignLimits: foreign = [],
  }: QueueSettings = settings ?? { lanes: defaultLanes, failover: [] }
  const leader = await currentLeader(db)
  return {
    engines: (await listEngines(db)).map((engine) => engineView(engine, leader, now)),
    agents: await listAgents(db),
    limits: [...(await limitedAccounts(db)), ...foreign],
    areaHolders: await tasksHoldingAreas(db),
    leases: await laneLeases(db),
    waitingFeatures: await waitingFeatures(db),
    ...{ lanes, failover },
    hourTokens: (await hourTokensNow(db, hourTokens)) ?? null,
  }
}

/** What the views of all goals share. */
const sharedFacts = async (db: Queryable, settings: QueueSettings | undefined) => {
  const now = await storeNow(db)
  return {
    escalations: await listEscalations(db, { pendingOnly: true }),
    queue: await queueFacts(db, now, settings),
    judgeOff: (await readHatch(db)).state === 'off',
    now,
  }
}

/**
 * Goals with their tasks and next steps, the open questions and the agents: every goal that has not ended, and the `ended`
 * newest of those that have. A store keeps thousands of ended goals, and every open page asks every few seconds.
 */
export const statusView = async (db: Queryable, ended: number, options: ViewOptions = {}) => {
  const { queue: settings, channels, commands, place } = options
  // Read first, so that a client that follows the events from here misses nothing that this view lacks.
  const lastEvent = await stableUpTo(db)
  const { goals: shown, leftOut } = await listShownGoals(db, ended)
  const ids = shown.map(({ id }) => id)
  const shared = { ...(await sharedFacts(db, settings)), tasks: await listTasksOf(db, ids) }
  const goals = await goalViews(db, shown, shared, options)
  const { escalations, queue, now } = shared
  const { agents, engines, limits } = queue
  const suggestions = commands === undefined ? [] : suggestedCommands(await commandRecords(db), commands)
  const undelivered = await undeliveredChannels(db, channels ?? [])
  const notices = await noticesOf(db, place)
  return {
    ...{ at: now.toISOString(), lastEvent, goals, endedLeftOut: leftOut },
    ...{ escalations, suggestions, agents, engines, limits, undelivered, notices },
    schedules: (await listSchedules(db)).map(shownSchedule),
  }
}

/** One goal as in `statusView`, or undefined. */
export const goalView = async (db: Queryable, id: string, options: ViewOptions = {}) => {
  const goal = await getGoal(db, id)
  if (goal === undefined) return undefined
  const shared = { ...(await sharedFacts(db, options.queue)), tasks: await listTasks(db, id) }
  return (await goalViews(db, [goal], shared, options))[0]
}

/** The work of these goals' tasks, each with its present commit. */
const workOf = async (db: Queryable, goals: readonly Goal[]) => {
  const ids = goals.map(({ id }) => id)
  const done = new Map(
    (await listTasksOf(db, ids)).flatMap((task) => (task.status === 'done' ? [[task.id, task]] : [])),
  )
  const verdicts = new Map((await listRunsOf(db, ids)).map(({ id, verdict }) => [id, verdict]))
  // A task that was done twice has an older entry, whose commit no longer exists.
  const newest = new Map((await listMergesOf(db, ids)).map((entry) => [entry.taskId, entry]))
  return [...newest.values()]
    .filter(({ taskId, state }) => state === 'merged' && done.has(taskId))
    .map(({ goalId, taskId, runId, landedCommit }) => ({
      ...{ goal: goalId, task: taskId, title: done.get(taskId)?.title ?? '', commit: landedCommit },
      outcome: verdicts.get(runId)?.outcome ?? null,
      proof: proofOf(verdicts.get(runId)),
      stillFailing: preexistingFailures(verdicts.get(runId)?.checks ?? []),
    }))
}

const landedSince = async (db: Queryable, since: Date) => {
  const goals = await listGoals(db)
  return workOf(
    db,
    goals.filter(({ state, endedAt }) => state === 'done' && endedAt !== null && endedAt >= since),
  )
}

/** Goals that are done and only wait for the user to land them. */
const readyNow = (goals: readonly (Goal & { mergeCommand: string | null })[]) =>
  goals
    .filter(({ state }) => state === 'ready')
    .map(({ id, title, mergeCommand }) => ({ goal: id, title, command: mergeCommand ?? 'unstuck status' }))

/** What landed, was recovered and was spent since a time, and what waits now. */
export const reportView = async (db: Queryable, since: Date, options: ViewOptions = {}) => {
  const status = await statusView(db, 0, options)
  const tasks = status.goals.flatMap((goal) => goal.tasks)
  return {
    since: since.toISOString(),
    until: status.at,
    landed: await landedSince(db, since),
    failing: await failingTargets(db, since),
    ready: readyNow(status.goals),
    recovered: await recoveredSince(db, since),
    waiting: status.escalations.map((entry) => ({
      goal: entry.goalId,
      task: entry.taskId,
      question: entry.question,
      choices: entry.choices.map(({ command }) => command),
    })),
    reworked: await reworkedSince(db, since),
    retrying: tasks.flatMap(({ id, title, retry }) =>
      retry === null ? [] : [{ task: id, title, ...retry, at: retry.at.toISOString() }],
    ),
    suggestions: status.suggestions,
    ...(await spentSince(db, since)),
  }
}

/** All events of a goal, task or run, however many pages they fill. */
export const allEvents = async (db: Queryable, filter: { goalId?: string; taskId?: string; runId?: string }) => {
  const found = []
  for (let after = 0; ;) {
    const page = await readEvents(db, { ...filter, after, limit: 500 })
    found.push(...page)
    if (page.length < 500) return found
    after = page.at(-1)?.id ?? after
  }
}
