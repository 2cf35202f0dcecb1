/** Follows a goal across restarts of the engine, until it has ended or waits for a person. */
import { setTimeout as delay } from 'node:timers/promises'
import type { EventView, GoalView, TaskView } from '../../api/contract.ts'
import { goalEnded, isLanding } from '../../domain/goal.ts'
import { AppError } from '../../errors.ts'
import { sentenceOf } from '../../runtime/people/event-sentences.ts'
import { repeatedByQuestion } from '../../runtime/people/explain.ts'
import { verdictText } from '../../runtime/people/story-text.ts'
import type { Client } from '../engine/client.ts'
import { connect } from '../engine/connect.ts'
import { followEvents } from '../engine/follow-events.ts'
import { printLine, printJson, type Io } from '../io.ts'
import type { Live } from '../live/live.ts'
import { safe } from '../render.ts'
import { localTimes, secondText } from '../times.ts'
import { limitWait, type LimitWait } from './limit-wait.ts'

const pollMs = 250
const pageSize = 500

/** Steps between two results, and events that a later one or the end repeats. `unstuck events` and `explain` show them. */
const quietTypes = new Set([
  ...[
    'goal.created',
    'goal.ready',
    'goal.done',
    'run.phase',
    'run.launched',
    'run.succeeded',
    'agent.registered',
    'task.created',
  ],
  ...['task.claimed', 'task.awaiting_judge', 'verify.proof', 'system.runtime_hatch_armed'],
  ...['merge.enqueued', 'merge.processing', 'merge.merged', 'account.limited'],
  ...repeatedByQuestion,
])

/** Work that goes its way says so once, when it is done. */
const isQuiet = ({ type, payload }: EventView): boolean => {
  if (type === 'goal.planned') return payload['reason'] === '1 task'
  if (type !== 'judge.review') return quietTypes.has(type)
  const { mode, verdict, weakened } = payload
  return mode === 'auto' && verdict === 'approve' && !(Array.isArray(weakened) && weakened.length > 0)
}

/** What the lines of a goal need to know of earlier events. */
interface Told {
  numbers: Map<string, number>
  /** What the checks of the last attempt said, by task. */
  checks: Map<string, string>
  /** The problem that was told last, by run: the end of the run repeats it. */
  problems: Map<string, string>
}

const evidenceOf = ({ payload }: EventView): string =>
  typeof payload['evidence'] === 'string' ? payload['evidence'] : ''

/** Whether the end of a run only repeats the problem for which a recovery was begun. */
const isRepetition = (event: EventView, { problems }: Told): boolean =>
  event.type === 'run.failed' && evidenceOf(event) !== '' && problems.get(event.runId ?? '') === evidenceOf(event)

const textOf = (event: EventView, { checks }: Told): string => {
  const found = event.type === 'task.done' ? checks.get(event.taskId ?? '') : undefined
  return found === undefined ? sentenceOf(event) : `${sentenceOf(event)}: ${found}`
}

const eventLine = (event: EventView, told: Told): string => {
  const task = event.taskId === null ? '' : ` task ${told.numbers.get(event.taskId) ?? '?'}:`
  const now = new Date()
  return `${secondText(event.at, now)}${task} ${localTimes(safe(textOf(event, told)), now)}`
}

const needsNoFollowing = (goal: GoalView): boolean =>
  (goalEnded(goal.state) && !isLanding(goal)) || goal.state === 'paused' || goal.state === 'awaiting_human'

interface Follower {
  io: Io
  id: string
  json: boolean
  client: Client
  /** A task could have started by now. */
  isLate: boolean
  /** The waits that were said, by kind. */
  said: Set<string>
}

/** What keeps a task from starting although its goal is ready for it: the machine, or other work. */
const heldBy = new Set(['admission', 'busy', 'lane_limit'])

/** The first task that waits for something of which no event tells, so that waiting would look like work. */
const silentWait = ({ isLate }: Follower, { tasks }: GoalView): TaskView | undefined => {
  const judgeIsOff = tasks.find(
    ({ status, nextStep }) => status === 'blocked(awaiting_judge)' && nextStep?.owner === 'person',
  )
  if (judgeIsOff !== undefined || !isLate || tasks.some(({ status }) => status === 'running')) return judgeIsOff
  return tasks.find(({ status, nextStep }) => status === 'queued' && heldBy.has(nextStep?.waitsFor ?? ''))
}

/** Says such a wait once, without its figures, which change. Standard output of `--json` has events and the result alone. */
const saySilentWait = (follower: Follower, goal: GoalView): void => {
  const waits = silentWait(follower, goal)
  if (waits?.nextStep == null) return
  const key = waits.nextStep.text.replace(/[:\d].*$/s, '')
  if (follower.said.has(key)) return
  follower.said.add(key)
  const { io, json } = follower
  const now = new Date()
  const text = `task ${waits.number}: ${safe(waits.nextStep.text)}`
  if (json) io.error(`${text}\n`)
  else printLine(io, `${secondText(now.toISOString(), now)} ${text}`)
}

const reconnect = async (follower: Follower): Promise<Client> => {
  follower.client = (await connect(follower.io, { start: true })).client
  return follower.client
}

/** Requests `path`, and reconnects while the engine is being restarted. */
const request = async <T>(follower: Follower, path: string): Promise<T> => {
  for (;;) {
    try {
      return await follower.client.get<T>(path)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'ENGINE_UNAVAILABLE' || follower.io.signal.aborted) throw error
      await delay(pollMs)
      await reconnect(follower)
    }
  }
}

/** Within the first of these times a task starts, or something keeps it from starting, which the engine may find out later. */
const startsWithinMs = [1_500, 1_500, 3_000]

/** No event tells why nothing starts, so the goal is read without one. */
const sayWhatKeepsItFromStarting = async (follower: Follower, signal: AbortSignal): Promise<void> => {
  for (const ms of startsWithinMs) {
    await delay(ms, undefined, { signal })
    follower.isLate = true
    saySilentWait(follower, await follower.client.get<GoalView>(`/goals/${follower.id}`))
  }
}

/** The goal if it has ended, is paused or waits for a person; undefined while work is in progress. */
const endedGoal = async (follower: Follower): Promise<GoalView | undefined> => {
  for (;;) {
    const goal = await request<GoalView>(follower, `/goals/${follower.id}`)
    if (needsNoFollowing(goal)) return goal
    saySilentWait(follower, goal)
    // A refused landing changes the reason of the goal and emits no event, so the goal is polled.
    if (!isLanding(goal) || follower.io.signal.aborted) return undefined
    await delay(pollMs, undefined, { signal: follower.io.signal }).catch(() => undefined) // aborted: the loop ends
  }
}

/**
 * Whether to poll the goal: after events of the goal itself, where its work comes before the judge, and after a new stream or a heartbeat
 * (an empty batch).
 */
const needsPoll = (batch: EventView[]): boolean =>
  batch.length === 0 || batch.some(({ type }) => type.startsWith('goal.') || type === 'run.succeeded')

/** Shows the events that arrived after the goal was polled, so that the output includes what led to its final state. */
const showRest = async (follower: Follower, after: () => number, show: (batch: EventView[]) => void): Promise<void> => {
  for (let rest = pageSize; rest === pageSize;) {
    const page = await request<EventView[]>(follower, `/events?after=${after()}&goal=${follower.id}&limit=${pageSize}`)
    show(page)
    rest = page.length
  }
}

/** If `harness.failover` names another harness, that harness starts the task within this time. */
const failoverMs = 1_000

/** The limit that the whole goal waits for, if it still waits after the time for a failover. */
const limitOfAll = async (follower: Follower): Promise<LimitWait | undefined> => {
  const poll = async (): Promise<LimitWait | undefined> => {
    const { tasks } = await request<GoalView>(follower, `/goals/${follower.id}`)
    return limitWait({ tasks })
  }
  if ((await poll()) === undefined) return undefined
  await delay(failoverMs, undefined, { signal: follower.io.signal }).catch(() => undefined) // aborted: the follower ends
  return poll()
}

export interface FollowGoalOptions {
  json: boolean
  /** Number of the last event to skip; later ones are shown. */
  after: number
  /** Stop following when the whole goal waits for the limit of an account. */
  noWait?: boolean
}

/** Prints the events of the goal until it has ended or waits for a person; undefined if the user stopped following. */
export const followGoal = async (
  { io, watch }: Live,
  first: Client,
  { id, json, after: from, noWait = false }: FollowGoalOptions & { id: string },
): Promise<GoalView | LimitWait | undefined> => {
  const follower: Follower = { io, id, json, client: first, isLate: false, said: new Set() }
  const { tasks } = await request<GoalView>(follower, `/goals/${id}`)
  watch(id, () => follower.client)
  const numbers = new Map(tasks.map((task) => [task.id, task.number]))
  const told: Told = { numbers, checks: new Map(), problems: new Map() }
  let after = from
  const show = (batch: EventView[]): void => {
    after = batch.at(-1)?.seq ?? after
    for (const event of batch) {
      // A task that continues another one is created while the goal runs.
      if (event.type === 'task.created' && event.taskId !== null)
        numbers.set(event.taskId, event.payload['number'] as number)
      if (event.type === 'task.awaiting_judge' && event.taskId !== null && event.payload['trigger'] !== 'asked_again')
        told.checks.set(event.taskId, verdictText(event.payload))
      if (event.type === 'recovery.started' && event.runId !== null) told.problems.set(event.runId, evidenceOf(event))
      if (json) printJson(io, event)
      else if (!isQuiet(event) && !isRepetition(event, told)) printLine(io, eventLine(event, told))
    }
  }
  const following = { first, goal: id, after, signal: io.signal, reconnect: () => reconnect(follower) }
  const over = new AbortController()
  const isOver = AbortSignal.any([over.signal, io.signal])
  sayWhatKeepsItFromStarting(follower, isOver).catch(() => undefined) // it has ended, or the engine is being restarted
  try {
    for await (const batch of followEvents(following)) {
      show(batch)
      const goal = needsPoll(batch) ? await endedGoal(follower) : undefined
      const limit = goal === undefined && noWait ? await limitOfAll(follower) : undefined
      if (limit !== undefined) return limit
      if (goal === undefined) continue
      await showRest(follower, () => after, show)
      return goal
    }
    return undefined
  } finally {
    over.abort()
  }
}
