/** One handler per route: reads a view, or has the runtime make a change. HTTP itself is in app.ts. */
import { taskName } from '../domain/task-title.ts'
import { settingVariables } from '../config/setting-variables.ts'
import { eventView } from './event-view.ts'
import { AppError, messageOf } from '../errors.ts'
import type { Escalation } from '../domain/escalation.ts'
import { questionLines } from '../domain/question-lines.ts'
import { harnessOfLaunch, type Run } from '../domain/run.ts'
import {
  cancelGoal,
  cancelTask,
  goalNamed,
  pauseGoal,
  resumeGoals,
  retryGoal,
  retryTask,
  taskNamed,
} from '../runtime/people/commands.ts'
import { landGoal } from '../runtime/people/ask-landing.ts'
import { answerQuestions } from '../runtime/people/answer-many.ts'
import { answerQuestion } from '../runtime/people/answer-question.ts'
import { showAlwaysChange } from '../runtime/people/approve-always.ts'
import { revertTask } from '../runtime/people/revert-task.ts'
import { approveTask, rejectTask } from '../runtime/people/approve.ts'
import { lastReport } from '../runtime/agent/run-tools.ts'
import { runPaths, type Context } from '../runtime/core/context.ts'
import { requestEdit } from '../runtime/people/edit-task.ts'
import { doctor } from '../runtime/people/doctor.ts'
import type { Engine } from '../runtime/engine/engine.ts'
import { checksInCheckout } from '../runtime/checks/first-checks.ts'
import { storyOf } from '../runtime/people/explain.ts'
import { harnessNamed } from '../runtime/harness/harness-choice.ts'
import { withFewerTasks } from '../runtime/people/fewer-tasks.ts'
import { removeExpired } from '../runtime/engine/retention.ts'
import { storageView } from '../runtime/engine/storage-view.ts'
import { createGoal } from '../runtime/goal/create-goal.ts'
import { inboxView } from '../runtime/people/inbox.ts'
import { createActivities } from '../runtime/people/run-activity.ts'
import { notificationsView } from '../runtime/people/notification-view.ts'
import { recoverySince } from '../runtime/people/report-parts.ts'
import { tellAgent } from '../runtime/people/tell-agent.ts'
import { retryNotifications } from '../runtime/people/retry-notifications.ts'
import { giveBackTask, takeOverTask } from '../runtime/people/take-over-task.ts'
import { readRunDiff } from '../runtime/people/run-diff.ts'
import { readChecks } from '../runtime/people/check-log.ts'
import { readRunLog } from '../runtime/people/run-log.ts'
import { shownTask, withCountdowns } from '../runtime/people/task-countdown.ts'
import { allEvents, goalView, reportView, statusView, viewOptions } from '../runtime/people/views.ts'
import { listAgents } from '../store/agent.ts'
import { configPlace, configStateAt } from '../store/config-state.ts'
import { listEscalations } from '../store/escalation.ts'
import { readEvents, storeNow } from '../store/event.ts'
import {
  countAll,
  pageOfEscalations,
  pageOfGoals,
  pageOfJudgements,
  pageOfRecoveries,
  pageOfRequeues,
  pageOfRuns,
  pageOfTasks,
} from '../store/page.ts'
import { getRun } from '../store/run.ts'
import { spentSince } from '../store/spent.ts'
import { getTask } from '../store/task.ts'
import { listSnapshots, restoreSnapshot } from '../workspace/snapshot.ts'
import type { Conforming, Handlers } from './call.ts'
import type { ExplainView } from './contract.ts'
import type { Logins } from './logins.ts'
import { grantHandlers } from './grant-handlers.ts'
import { hostHandlers } from './host-handlers.ts'
import { queueHandlers } from './queue-handlers.ts'
import { recoverySummary } from './proposal-summary.ts'
import { scheduleHandlers } from './schedule-handlers.ts'
import { runToolHandlers } from './run-tool-handlers.ts'
import { sessionHandlers } from './session-handlers.ts'
import { siblingHandlers, type Sibling } from './siblings.ts'

export interface HandlerParts {
  context: Context
  engine: Engine
  version: string
  /** Name of the store for people, without user and password. */
  store: string
  /** Starts an orderly stop of the engine. */
  shutdown: () => void
  logins: Logins
  /** The repositories of this user. */
  siblings: () => Promise<Sibling[]>
  port: () => number
  /** A new one-time login. */
  login: () => { url: string; expiresAt: string }
}

const runNamed = async (db: Context['db'], id: string): Promise<Run> => {
  const run = await getRun(db, id)
  if (run === undefined) throw new AppError('NOT_FOUND', `there is no run ${id}; "unstuck runs" lists them`)
  return run
}

/** For a view of something that was found a moment ago. */
const present = <T>(view: T | undefined, id: string): T => {
  if (view === undefined) throw new AppError('NOT_FOUND', `there is no ${id}; "unstuck status" lists what there is`)
  return view
}

/** A filter by an unknown id is refused, because an empty list would hide the typing error. */
export const checkFilter = async (
  { db }: Pick<Context, 'db'>,
  { goal, task, run }: { goal?: string | undefined; task?: string | undefined; run?: string | undefined },
): Promise<void> => {
  if (goal !== undefined) await goalNamed(db, goal)
  if (task !== undefined) await taskNamed(db, task)
  if (run !== undefined) await runNamed(db, run)
}

/** The open questions at the end of a story; each line needs a time, as the lines before it have. */
const questionStory = (questions: readonly Escalation[]): ExplainView['lines'] =>
  questions.flatMap((question) =>
    questionLines(question).map((text) => ({ at: question.createdAt.toISOString(), text })),
  )

const explain = async (context: Context, id: string): Promise<ExplainView> => {
  const { db } = context
  const task = await getTask(db, id)
  if (task !== undefined) {
    return {
      title: `${taskName(task)}: ${task.status}`,
      checks: checksInCheckout(context.ports.files, context.repository.root, task),
      lines: [
        ...storyOf(await allEvents(db, { taskId: id })),
        ...questionStory(
          (await listEscalations(db, { goalId: task.goalId, pendingOnly: true })).filter(({ taskId }) => taskId === id),
        ),
      ],
    }
  }
  const run = await getRun(db, id)
  if (run !== undefined) {
    return {
      title: `Run ${run.number} of task ${run.taskId}: ${run.state}`,
      lines: storyOf(await allEvents(db, { runId: id })),
    }
  }
  const goal = await goalNamed(db, id).catch(() => undefined) // the message below names all three kinds
  if (goal === undefined)
    throw new AppError('NOT_FOUND', `there is no task, run or goal ${id}; "unstuck status" lists them`)
  const lines = storyOf(await allEvents(db, { goalId: id }))
  const open = await listEscalations(db, { goalId: id, pendingOnly: true })
  return { title: `Goal "${goal.title}": ${goal.state}`, lines: [...lines, ...questionStory(open)] }
}

const metrics = async ({ db }: Context) => ({
  at: (await storeNow(db)).toISOString(),
  ...(await countAll(db)),
  recovery: await recoverySummary(db),
  ...(await spentSince(db)),
})

const lists = (context: Context) =>
  ({
    listGoals: async ({ query: { after = null, limit } }) => pageOfGoals(context.db, { after, limit }),
    listTasks: async ({ query: { after = null, limit, goal } }) => {
      await checkFilter(context, { goal })
      return withCountdowns(context, await pageOfTasks(context.db, { after, limit, goalId: goal ?? null }))
    },
    listRuns: async ({ query: { after = null, limit, goal, task, state } }) => {
      await checkFilter(context, { goal, task })
      const states = state?.split(',') ?? null
      return pageOfRuns(context.db, { after, limit, goalId: goal ?? null, taskId: task ?? null, states })
    },
    listRecoveries: async ({ query: { after = null, limit, goal, task } }) => {
      await checkFilter(context, { goal, task })
      return pageOfRecoveries(context.db, { after, limit, goalId: goal ?? null, taskId: task ?? null })
    },
    listJudgements: async ({ query: { after = null, limit, goal, task } }) => {
      await checkFilter(context, { goal, task })
      return pageOfJudgements(context.db, { after, limit, goalId: goal ?? null, taskId: task ?? null })
    },
    listRequeues: async ({ query: { after = null, limit, goal, task } }) => {
      await checkFilter(context, { goal, task })
      const page = { after, limit, goalId: goal ?? null, taskId: task ?? null }
      return (await pageOfRequeues(context.db, page)).map(
        ({ id, goalId, taskId, runId, epoch, reason, cause, at }) => ({
          ...{ id, goalId, taskId, runId, epoch, reason, cause, at },
        }),
      )
    },
    listEscalations: async ({ query: { after = null, limit, goal, state } }) => {
      await checkFilter(context, { goal })
      return pageOfEscalations(context.db, { after, limit, goalId: goal ?? null, pendingOnly: state === 'pending' })
    },
    alwaysChange: async ({ id }) => showAlwaysChange(context, id),
    listEvents: async ({ query: { after, limit, goal = null, task = null, run = null } }) => {
      await checkFilter(context, { goal: goal ?? undefined, task: task ?? undefined, run: run ?? undefined })
      const found = await readEvents(context.db, { after, limit, goalId: goal, taskId: task, runId: run })
      return found.map(eventView)
    },
    listNotifications: async ({ query: { limit } }) => notificationsView(context.db, limit),
  }) satisfies Partial<Handlers>

const runReads = (context: Context) => {
  const activityOf = createActivities(context)
  const driverOf = (run: Run, number?: number) => harnessNamed(context.config(), harnessOfLaunch(run, number)).driver
  return {
    getRun: async ({ id }) => runNamed(context.db, id),
    runActivity: async ({ id }) => {
      const run = await runNamed(context.db, id)
      return { ...activityOf(run, driverOf(run)), report: await lastReport(context.db, run) }
    },
    runChecks: async ({ id }) => {
      const run = await runNamed(context.db, id)
      return readChecks(context.ports, runPaths(context, run.id))
    },
    runLog: async ({ id, query }) => {
      const run = await runNamed(context.db, id)
      const { processes } = context.ports
      return readRunLog(
        { run, driver: driverOf(run, query.launch), paths: runPaths(context, run.id), processes },
        query,
      )
    },
  } satisfies Partial<Handlers>
}

const reads = ({ context, engine, version, store }: HandlerParts) =>
  ({
    health: async () => ({
      ok: true as const,
      version,
      pid: process.pid,
      root: context.repository.root,
      running: engine.running(),
      draining: engine.draining(),
      store,
      variables: settingVariables(context.environment),
    }),
    status: async ({ query: { ended, tasks: most } }) => {
      const view = await statusView(context.db, ended, viewOptions(context))
      return most === undefined ? view : { ...view, goals: view.goals.map((goal) => withFewerTasks(goal, most)) }
    },
    inbox: async () => inboxView(context.db),
    getConfig: async () => {
      const { waiting = null, rejected = [] } = (await configStateAt(context.db, configPlace(context))) ?? {}
      return { waiting, rejected }
    },
    metrics: async () => metrics(context),
    report: async ({ query }) => reportView(context.db, new Date(query.since), viewOptions(context)),
    recoveryFigures: async ({ query }) => recoverySince(context.db, new Date(query.since)),
    doctor: async () => doctor(context),
    storage: async () => storageView(context),
    listRemovable: async () => removeExpired(context, true),
    snapshots: async () => listSnapshots(context.shadow),
    agents: async () => listAgents(context.db),
    getGoal: async ({ id }) => {
      await goalNamed(context.db, id)
      return present(await goalView(context.db, id, viewOptions(context)), id)
    },
    getTask: async ({ id }) => {
      const { goalId } = await taskNamed(context.db, id)
      const goal = await goalView(context.db, goalId, viewOptions(context))
      return present(
        goal?.tasks.find((task) => task.id === id),
        id,
      )
    },
    ...runReads(context),
    runDiff: async ({ id }) => {
      const run = await runNamed(context.db, id)
      return readRunDiff(context, run, await goalNamed(context.db, run.goalId))
    },
    explain: async ({ id }) => explain(context, id),
    ...lists(context),
  }) satisfies Partial<Handlers>

const changes = ({ context, engine, shutdown, login }: HandlerParts) =>
  ({
    createGoal: async ({ body: { input, options } }) => createGoal(context, input, options),
    pauseGoal: async ({ id }) => pauseGoal(context, id),
    retryGoal: async ({ id }) => retryGoal(context, id),
    landGoal: async ({ id, body }) => landGoal(context, id, body),
    cancelGoal: async ({ id }) => cancelGoal(context, id, engine.cancelRunning),
    retryTask: async ({ id, body }) => shownTask(context, await retryTask(context, id, body)),
    tellTask: async ({ id, body }) => shownTask(context, await tellAgent(context, id, body)),
    revertTask: async ({ id, body: { by } }) => revertTask(context, id, by),
    approveTask: async ({ id, body }) => shownTask(context, await approveTask(context, id, body)),
    rejectTask: async ({ id, body }) => shownTask(context, await rejectTask(context, id, body)),
    editTask: async ({ id, body: { why, by, ...fields } }) =>
      shownTask(context, await requestEdit(context, id, fields, { why, by })),
    takeOverTask: async ({ id, body }) => shownTask(context, await takeOverTask(context, id, body)),
    giveBackTask: async ({ id, body }) => shownTask(context, await giveBackTask(context, id, body)),
    cancelTask: async ({ id }) => shownTask(context, await cancelTask(context, id, engine.cancelRunning)),
    answerQuestion: async ({ id, body }) => answerQuestion(context, { id, ...body }, engine.cancelRunning),
    answerQuestions: async ({ body: { answers, by } }) => ({
      results: await answerQuestions(
        context,
        answers.map((answer) => ({ ...answer, by })),
        engine.cancelRunning,
      ),
    }),
    resume: async ({ body }) => resumeGoals(context, body.goal),
    restore: async ({ body }) => restoreSnapshot(context.shadow, body),
    clean: async ({ body }) => removeExpired(context, body.dryRun),
    retryNotifications: async ({ body: { id = null } }) => retryNotifications(context, id),
    confirmConfig: async ({ body }) => {
      if (context.confirmSettings === undefined) throw new AppError('ILLEGAL', 'no change of the configuration waits')
      const { digest } = await context.confirmSettings(body.digest)
      return { digest }
    },
    createLogin: async () => login(),
    drain: async () => {
      // Not awaited: a run may take hours. The response says how many runs are left.
      void engine
        .drain()
        .then(shutdown, (error: unknown) =>
          context.log.warn({ error: messageOf(error) }, 'the engine could not be drained'),
        )
      return { draining: true as const, running: engine.running() }
    },
    shutdown: async () => {
      shutdown()
      return { stopping: true as const }
    },
  }) satisfies Partial<Handlers>

export const handlersOf = (parts: HandlerParts) => {
  const handlers = {
    ...reads(parts),
    ...changes(parts),
    ...grantHandlers(parts.context),
    ...hostHandlers(parts.context),
    ...queueHandlers(parts.context),
    ...runToolHandlers(parts.context),
    ...scheduleHandlers(parts.context),
    ...sessionHandlers(parts.logins, parts.port),
    ...siblingHandlers(parts),
  }
  return handlers satisfies Conforming<typeof handlers>
}
