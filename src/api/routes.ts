/**
 * The table of routes: for each the schema of its request and response, and its errors. app.ts validates requests with it,
 * handlers.ts is type-checked against it, and openapi.ts and docs/api.md are generated from it. Only these routes are served.
 */
import { z } from 'zod'
import type { ErrorCode } from '../errors.ts'
import * as contract from './contract.ts'
import * as entities from './responses/entities.ts'
import { grantRoutes } from './grant-routes.ts'
import { notificationSchema, retriedDelivery } from './responses/notifications.ts'
import * as inbox from './responses/inbox.ts'
import { hostRoutes } from './host-routes.ts'
import { judgementRoutes } from './judgement-routes.ts'
import { cleanRoutes } from './clean-routes.ts'
import { change, list, ofRun, open, read } from './route-rows.ts'
import { queueRoutes } from './queue-routes.ts'
import { scheduleRoutes } from './schedule-routes.ts'
import { requeue } from './responses/requeue.ts'
import { recoveryFigures } from './responses/recovery-sums.ts'
import * as runTools from './responses/run-tool-responses.ts'
import * as outcomes from './responses/outcomes.ts'
import * as views from './responses/views.ts'

export interface Route {
  method: 'GET' | 'POST' | 'PATCH'
  /** `:id` stands for an id. */
  path: string
  summary: string
  query: z.ZodObject
  body: z.ZodType | null
  status: 200 | 201
  /** Null = a page for people or a file of one. */
  answer: z.ZodType | null
  /** In addition to the common ones. */
  errors: readonly ErrorCode[]
  /** `open` = without a token or session; `run` = with the token of the run that the path names, and no other. */
  access: 'owner' | 'open' | 'run'
  /** `person` = refused when it comes from a program that a run started. */
  caller: 'person' | 'anyone'
  /** Why a route that changes something is open to programs of a run. A test demands it. */
  whyAnyone?: string
  /** The header `Link` names the next page. */
  paged: boolean
}

const none = contract.noQuery

export const routes = {
  home: open({ ...read('/', 'The dashboard, or the reason why it cannot be shown', none, z.null()), answer: null }),
  asset: open({
    ...read('/assets/:id', 'A file of the dashboard; its content never changes', none, z.null()),
    answer: null,
  }),
  showAnswer: open({
    ...read('/answer/:id', 'The page of a signed answer link; reading it changes nothing', none, z.null()),
    ...{ answer: null, errors: [] },
  }),
  answerByLink: open({
    ...change('/answer/:id', 'Answers a question once by the form of that page', null, z.null()),
    ...{ answer: null, errors: [] },
  }),
  beginSession: open(
    change('/sessions', 'Trades a login code for a session', contract.sessionRequest, outcomes.sessionSchema),
  ),
  challenge: open(
    change(
      '/sessions/challenge',
      'The proof of this engine, for a page that logged in before the engine was restarted',
      contract.challengeRequest,
      outcomes.challenge,
    ),
  ),
  resumeSession: open(
    change(
      '/sessions/resume',
      'A new session for a page that proves its login',
      contract.resumeSessionRequest,
      outcomes.sessionSchema,
    ),
  ),
  sessionKey: change(
    '/sessions/key',
    'The key with which a page proves its login after a restart of the engine',
    null,
    outcomes.sessionKey,
  ),
  openapi: read('/openapi.json', 'This document', none, outcomes.openapi),
  health: read('/health', 'Identity and state of the engine', none, views.health),
  status: read(
    '/status',
    'Open goals and the newest ended ones, with tasks, next steps and allowed actions; questions, agents, engines',
    contract.statusQuery,
    views.status,
  ),
  metrics: read(
    '/metrics',
    'Numbers for Prometheus; with `Accept: application/json` counts of goals, tasks, runs and so on by state, and the total spend',
    none,
    views.metrics,
  ),
  inbox: read('/inbox', 'The open questions, numbered and grouped by their cause', contract.noQuery, inbox.inbox),
  report: read(
    '/report',
    'What landed, recovered, waits and was spent since a time',
    contract.reportQuery,
    views.reportSchema,
  ),
  recoveryFigures: read(
    '/recovery-figures',
    'How recovery did since a time: by day, by cause and rung, and the failures that cost most',
    contract.reportQuery,
    recoveryFigures,
  ),
  doctor: read('/doctor', 'The invariants, checked on the live store', none, views.doctorSchema),
  ...hostRoutes,
  snapshots: read('/snapshots', 'Snapshots that can be restored', none, z.array(views.snapshotSchema)),
  agents: read('/agents', 'The executor slots', none, z.array(entities.agent)),
  listGoals: list('/goals', 'Goals', contract.goalsQuery, entities.goalSchema),
  getGoal: read('/goals/:id', 'One goal with its tasks, next steps and allowed actions', none, views.goalViewSchema),
  listTasks: list('/tasks', 'Tasks', contract.tasksQuery, entities.taskSchema),
  getTask: read('/tasks/:id', 'One task with its next step and allowed actions', none, views.taskView),
  listRuns: list('/runs', 'Runs, the attempts at tasks', contract.runsQuery, entities.runSchema),
  getRun: read('/runs/:id', 'One run', none, entities.runSchema),
  runActivity: read(
    '/runs/:id/activity',
    'What a run is doing: the last line of the agent, its tokens so far, the running check',
    none,
    views.activity,
  ),
  runChecks: read(
    '/runs/:id/checks',
    'The checks of the newest verification, with start and end of their output',
    none,
    views.checks,
  ),
  runLog: read('/runs/:id/log', 'Output and tool calls of the agent, from a cursor', contract.logQuery, views.log),
  runDiff: read('/runs/:id/diff', 'What a run changed, as a patch of at most 1 MiB', none, views.diff),
  proposeRecovery: ofRun(
    change(
      '/runs/:id/proposal',
      'An agent proposes a command that repairs the environment of its checks',
      contract.proposalRequest,
      runTools.proposed,
    ),
  ),
  reportProgress: ofRun(
    change('/runs/:id/progress', 'An agent reports its progress', contract.progressRequest, runTools.reported),
  ),
  askPerson: ofRun(
    change(
      '/runs/:id/question',
      'An agent asks a person, once in its run',
      contract.questionRequest,
      runTools.agentQuestion,
    ),
  ),
  readReply: ofRun(
    read('/runs/:id/question', 'The question of an agent, and its answer', none, runTools.agentQuestion),
  ),
  listRecoveries: list('/recoveries', 'Recoveries', contract.recoveriesQuery, entities.recovery),
  listRequeues: list(
    '/requeues',
    'How tasks continued after runs for which no recovery was left',
    contract.requeuesQuery,
    requeue,
  ),
  listEscalations: list('/escalations', 'Questions to a person', contract.escalationsQuery, entities.escalation),
  alwaysChange: {
    ...read(
      '/escalations/:id/always',
      'What the choice `approve_always` of a question would change in the configuration',
      none,
      inbox.alwaysChange,
    ),
    errors: ['NOT_FOUND', 'CONFIG_INVALID'] as const,
  },
  listEvents: {
    ...list('/events', 'Events, as JSON or as a stream', contract.eventsQuery, entities.eventSchema),
    errors: ['NOT_FOUND', 'TOO_MANY'] as const,
  },
  explain: read('/explain/:id', 'The history of a task, run or goal in sentences', none, views.explain),
  createGoal: {
    ...change('/goals', 'Creates a goal', contract.goalRequest, entities.goalSchema),
    status: 201 as const,
    errors: ['NOT_A_REPOSITORY', 'REPOSITORY_STATE', 'HARNESS_MISSING', 'CONFIG_INVALID'] as const,
  },
  pauseGoal: change('/goals/:id/pause', 'Pauses a goal: no new work of it starts', null, entities.goalSchema),
  retryGoal: change(
    '/goals/:id/retry',
    'Retries every task that failed, waits or was cancelled, with a new count of recoveries',
    null,
    entities.goalSchema,
  ),
  landGoal: change('/goals/:id/land', 'Lands a goal, or what is done of it', contract.landRequest, entities.goalSchema),
  cancelGoal: change('/goals/:id/cancel', 'Cancels a goal', null, entities.goalSchema),
  retryTask: change(
    '/tasks/:id/retry',
    'Retries a task with a new count of recoveries; `hint` is for all further attempts',
    contract.retryRequest,
    entities.taskSchema,
  ),
  tellTask: change(
    '/tasks/:id/tell',
    'Interrupts the agent that works on a task; it continues with the message, which is also a hint for later attempts',
    contract.tellRequest,
    entities.taskSchema,
  ),
  revertTask: change(
    '/tasks/:id/revert',
    'Undoes the work of a landed task on its target branch, with a new commit',
    contract.actorRequest,
    views.reverted,
  ),
  ...judgementRoutes,
  editTask: {
    ...change(
      '/tasks/:id',
      'Changes paths, checks, text or harness of a task; a running attempt is not affected',
      contract.editRequest,
      entities.taskSchema,
    ),
    method: 'PATCH' as const,
    errors: ['NOT_FOUND', 'ILLEGAL', 'STALE', 'HARNESS_MISSING'] as const,
  },
  takeOverTask: {
    ...change(
      '/tasks/:id/take-over',
      'Hands a waiting task to a person; `takenOver.command` of the response opens its folder',
      contract.actorRequest,
      entities.taskSchema,
    ),
    errors: ['NOT_FOUND', 'ILLEGAL', 'STALE', 'REPOSITORY_STATE'] as const,
  },
  giveBackTask: change(
    '/tasks/:id/give-back',
    'Checks and lands what a person did in the folder of a task',
    contract.actorRequest,
    entities.taskSchema,
  ),
  ...queueRoutes,
  ...scheduleRoutes,
  cancelTask: change('/tasks/:id/cancel', 'Cancels a task', null, entities.taskSchema),
  answerQuestion: {
    ...change(
      '/escalations/:id/answer',
      'Carries out a choice of a question; for `take_over`, `line` opens the folder of the task',
      contract.answerRequest,
      entities.answered,
    ),
    errors: ['NOT_FOUND', 'ILLEGAL', 'STALE', 'CONFIG_INVALID'] as const,
  },
  answerQuestions: change(
    '/escalations/answers',
    'Carries out a choice of each of several questions, at most 100; each has a result of its own',
    contract.answersRequest,
    inbox.answerResults,
  ),
  resume: {
    ...change('/resume', 'Resumes one or all paused goals', contract.resumeRequest, z.array(entities.goalSchema)),
    errors: ['NOT_FOUND', 'ILLEGAL', 'STALE'] as const,
  },
  restore: {
    ...change('/restore', 'Restores a snapshot into a new folder', contract.restoreRequest, outcomes.restored),
    errors: ['NOT_FOUND', 'REPOSITORY_STATE', 'PERMISSION'] as const,
  },
  ...cleanRoutes,
  ...grantRoutes,
  reportRefusal: {
    ...change(
      '/refusals',
      'Reports that the command line refused to an agent what only a person may do',
      contract.refusalRequest,
      outcomes.refusalReported,
    ),
    caller: 'anyone' as const,
    whyAnyone: 'it only records that a run was refused, once for each command of a run',
  },
  listNotifications: read(
    '/notifications',
    'Notifications over webhook, ntfy and desktop, newest first, with the state of each delivery',
    contract.notificationsQuery,
    z.array(notificationSchema),
  ),
  retryNotifications: {
    ...change(
      '/notifications/retry',
      'Sends again what was given up: one notification, or all of the last day and of questions that wait',
      contract.retryNotificationsRequest,
      z.array(retriedDelivery),
    ),
    errors: ['NOT_FOUND'] as const,
  },
  getConfig: read(
    '/config',
    'Changes of the configuration that wait, and files that are not valid',
    none,
    views.configView,
  ),
  confirmConfig: {
    ...change(
      '/config/confirm',
      'Confirms a change of the configuration that allows more, by the digest under which it was shown',
      contract.confirmRequest,
      views.configConfirmed,
    ),
    errors: ['ILLEGAL', 'STALE'] as const,
  },
  createLogin: change('/login-codes', 'A URL that logs a browser in once', null, outcomes.loginUrl),
  drain: change('/drain', 'Starts no new run, and stops the engine when its runs have ended', null, outcomes.draining),
  shutdown: change('/shutdown', 'Stops the engine', null, outcomes.stopping),
} as const satisfies Record<string, Route>

/** A body without required fields may be absent. */
export const mayBeAbsent = (schema: z.ZodType | null): boolean => schema === null || schema.safeParse(undefined).success

export type RouteName = keyof typeof routes

/** The errors of every route. */
export const commonErrors = ['INPUT_INVALID', 'UNAUTHORISED', 'FORBIDDEN_ORIGIN'] as const satisfies ErrorCode[]

/** Every error code of a route. */
export const errorsOf = (route: Route): ErrorCode[] => [
  ...commonErrors,
  ...(route.caller === 'person' ? (['FROM_A_RUN', 'NOT_PROVED'] as const) : []),
  ...(route.method !== 'GET' ? (['MEDIA_TYPE', 'BODY_TOO_LARGE'] as const) : []),
  ...route.errors,
]
