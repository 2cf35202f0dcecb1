/**
 * The one table of routes. What a request may hold, what an answer looks like and which errors it may end with stand here
 * once: app.ts validates by it, openapi.ts and docs/api.md are made from it. A route that is not here is not served.
 */
import { z } from 'zod'
import type { ErrorCode } from '../errors.ts'
import * as contract from './contract.ts'
import * as entities from './responses/entities.ts'
import * as outcomes from './responses/outcomes.ts'
import * as views from './responses/views.ts'

export interface Route {
  method: 'GET' | 'POST' | 'PATCH'
  /** With `:id` where an id stands. */
  path: string
  summary: string
  query: z.ZodObject
  body: z.ZodType | null
  status: 200 | 201
  /** Null = a page for people or a part of one. */
  answer: z.ZodType | null
  /** Beside those that every route may answer with. */
  errors: readonly ErrorCode[]
  /** `open` = also without a token or session. */
  access: 'owner' | 'open'
  /** The header `Link` names the next page. */
  paged: boolean
}

const read = <Path extends string, Query extends z.ZodObject, Answer extends z.ZodType>(
  path: Path,
  summary: string,
  query: Query,
  answer: Answer,
) => ({
  method: 'GET' as const,
  path,
  summary,
  query,
  body: null,
  status: 200 as const,
  answer,
  errors: path.includes(':id') ? (['NOT_FOUND'] as const) : ([] as const),
  access: 'owner' as const,
  paged: false,
})

/** A filter by an id that does not exist is a mistake, not an empty answer. */
const list = <Path extends string, Query extends z.ZodObject, Answer extends z.ZodType>(
  path: Path,
  summary: string,
  query: Query,
  answer: Answer,
) => ({ ...read(path, summary, query, z.array(answer)), errors: ['NOT_FOUND'] as const, paged: true })

const change = <Path extends string, Body extends z.ZodType | null, Answer extends z.ZodType>(
  path: Path,
  summary: string,
  body: Body,
  answer: Answer,
) => ({
  method: 'POST' as const,
  path,
  summary,
  query: contract.noQuery,
  body,
  status: 200 as const,
  answer,
  errors: path.includes(':id') ? (['NOT_FOUND', 'ILLEGAL', 'STALE'] as const) : ([] as readonly ErrorCode[]),
  access: 'owner' as const,
  paged: false,
})

/** Served without a token or session. */
const open = <Row extends object>(row: Row): Omit<Row, 'access'> & { access: 'open' } => ({ ...row, access: 'open' })

const none = contract.noQuery

export const routes = {
  home: open({ ...read('/', 'The dashboard, or why it cannot be shown', none, z.null()), answer: null }),
  asset: open({ ...read('/assets/:id', 'A file of the dashboard, for ever the same', none, z.null()), answer: null }),
  beginSession: open(
    change('/sessions', 'Trades a login code for a session', contract.sessionRequest, outcomes.session),
  ),
  challenge: open(
    change(
      '/sessions/challenge',
      'The proof of this engine, for a page that was logged in at the one before',
      contract.challengeRequest,
      outcomes.challenge,
    ),
  ),
  resumeSession: open(
    change(
      '/sessions/resume',
      'A new session for a page that proves its login',
      contract.resumeSessionRequest,
      outcomes.session,
    ),
  ),
  sessionKey: change(
    '/sessions/key',
    'What a page keeps in memory to prove its login to the next engine',
    null,
    outcomes.sessionKey,
  ),
  openapi: read('/openapi.json', 'This document', none, outcomes.openapi),
  health: read('/health', 'That the engine lives, and which one it is', none, views.health),
  status: read(
    '/status',
    'Goals with their tasks and next steps, questions, agents; of the goals that have ended the newest',
    contract.statusQuery,
    views.status,
  ),
  metrics: read('/metrics', 'How many of each there are, by state, as JSON', none, views.metrics),
  report: read('/report', 'What landed, recovered, waits and was spent', contract.reportQuery, views.report),
  doctor: read('/doctor', 'The promises, checked on the live store', none, views.doctor),
  snapshots: read('/snapshots', 'Snapshots that can be restored', none, z.array(entities.snapshot)),
  agents: read('/agents', 'The executor slots', none, z.array(entities.agent)),
  listGoals: list('/goals', 'Goals', contract.goalsQuery, entities.goal),
  getGoal: read('/goals/:id', 'One goal with its tasks and next steps', none, views.goalView),
  listTasks: list('/tasks', 'Tasks', contract.tasksQuery, entities.task),
  getTask: read('/tasks/:id', 'One task with its next step', none, views.taskView),
  listRuns: list('/runs', 'Runs, the attempts at tasks', contract.runsQuery, entities.run),
  getRun: read('/runs/:id', 'One run', none, entities.run),
  runActivity: read(
    '/runs/:id/activity',
    "What a run does now: the agent's last line, its tokens so far, the check in progress",
    none,
    views.activity,
  ),
  runChecks: read('/runs/:id/checks', 'The checks that ran last, with the ends of their output', none, views.checks),
  runLog: read('/runs/:id/log', 'What the agent said and did, from a cursor', contract.logQuery, views.log),
  runDiff: read('/runs/:id/diff', 'What a run changed, as a patch of at most 1 MiB', none, views.diff),
  listRecoveries: list('/recoveries', 'Recoveries', contract.recoveriesQuery, entities.recovery),
  listEscalations: list('/escalations', 'Questions to a person', contract.escalationsQuery, entities.escalation),
  listEvents: {
    ...list('/events', 'Everything that happened, as JSON or as a stream', contract.eventsQuery, entities.event),
    errors: ['NOT_FOUND', 'TOO_MANY'] as const,
  },
  explain: read('/explain/:id', 'The story of a task, run or goal', none, views.explain),
  createGoal: {
    ...change('/goals', 'Begins a goal', contract.goalRequest, entities.goal),
    status: 201 as const,
    errors: ['NOT_A_REPOSITORY', 'REPOSITORY_STATE', 'HARNESS_MISSING', 'CONFIG_INVALID'] as const,
  },
  pauseGoal: change('/goals/:id/pause', 'Starts no new work of a goal', null, entities.goal),
  retryGoal: change('/goals/:id/retry', 'Tries again what failed or waits, with a new count', null, entities.goal),
  landGoal: change('/goals/:id/land', 'Brings a ready goal to its target branch', null, entities.goal),
  cancelGoal: change('/goals/:id/cancel', 'Ends a goal', null, entities.goal),
  retryTask: change(
    '/tasks/:id/retry',
    'Tries a task again, with a new count and perhaps a hint for its next attempts',
    contract.retryRequest,
    entities.task,
  ),
  approveTask: change(
    '/tasks/:id/approve',
    'Lets work land as it is, although it weakened its checks',
    null,
    entities.task,
  ),
  editTask: {
    ...change(
      '/tasks/:id',
      'Changes paths, checks, text or harness of a task; during an attempt, for the next one',
      contract.editRequest,
      entities.task,
    ),
    method: 'PATCH' as const,
    errors: ['NOT_FOUND', 'ILLEGAL', 'STALE', 'HARNESS_MISSING'] as const,
  },
  takeOverTask: {
    ...change(
      '/tasks/:id/take-over',
      'Gives a task that waits to a person; `takenOver.command` of the answer leads into its folder',
      contract.actorRequest,
      entities.task,
    ),
    errors: ['NOT_FOUND', 'ILLEGAL', 'STALE', 'REPOSITORY_STATE'] as const,
  },
  giveBackTask: change(
    '/tasks/:id/give-back',
    'Has the work of a person in the folder of a task checked and landed',
    contract.actorRequest,
    entities.task,
  ),
  cancelTask: change('/tasks/:id/cancel', 'Ends a task', null, entities.task),
  answerQuestion: change(
    '/escalations/:id/answer',
    'Carries out one of the choices of a question; for `take_over`, `line` leads into the folder of the task',
    contract.answerRequest,
    entities.answered,
  ),
  resume: {
    ...change('/resume', 'Goes on with one or all paused goals', contract.resumeRequest, z.array(entities.goal)),
    errors: ['NOT_FOUND', 'ILLEGAL', 'STALE'] as const,
  },
  restore: {
    ...change('/restore', 'Brings a snapshot into a new folder', contract.restoreRequest, outcomes.restored),
    errors: ['NOT_FOUND', 'REPOSITORY_STATE', 'PERMISSION'] as const,
  },
  clean: change(
    '/clean',
    'Removes workspaces, snapshots and results of checks that nothing needs',
    contract.cleanRequest,
    outcomes.cleaned,
  ),
  createLogin: change('/login-codes', 'A URL that logs a browser in once', null, outcomes.loginUrl),
  drain: change('/drain', 'Takes no new work, and stops the engine when its runs have ended', null, outcomes.draining),
  shutdown: change('/shutdown', 'Stops the engine in order', null, outcomes.stopping),
} as const satisfies Record<string, Route>

/** A body of which nothing is needed may as well not be there. */
export const mayBeAbsent = (schema: z.ZodType | null): boolean => schema === null || schema.safeParse(undefined).success

export type RouteName = keyof typeof routes

/** What any request may be refused with. */
export const commonErrors = ['INPUT_INVALID', 'UNAUTHORISED', 'FORBIDDEN_ORIGIN'] as const satisfies ErrorCode[]

/** Every error code that a route answers with. */
export const errorsOf = (route: Route): ErrorCode[] => [
  ...commonErrors,
  ...(route.method !== 'GET' ? (['MEDIA_TYPE', 'BODY_TOO_LARGE'] as const) : []),
  ...route.errors,
]
