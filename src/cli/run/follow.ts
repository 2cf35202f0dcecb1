/** Follows one goal over all engines that come and go, until it has ended or waits for a person. */
import { setTimeout as delay } from 'node:timers/promises'
import type { EventView, GoalView } from '../../api/contract.ts'
import { goalEnded, isLanding } from '../../domain/goal.ts'
import { AppError } from '../../errors.ts'
import { saidByQuestion, sentenceOf } from '../../runtime/people/explain.ts'
import type { Client } from '../engine/client.ts'
import { connect } from '../engine/connect.ts'
import { followEvents } from '../engine/follow-events.ts'
import { line, printJson, type Io } from '../io.ts'
import type { Live } from '../live/live.ts'
import { safe } from '../render.ts'
import { localTimes, secondText } from '../times.ts'
import { limitWait, type LimitWait } from './limit-wait.ts'

const pollMs = 250
const pageSize = 500

const quietTypes = new Set(['run.phase', 'run.launched', 'agent.registered', 'task.created', ...saidByQuestion])

const eventLine = (event: EventView, numbers: Map<string, number>): string => {
  const task = event.taskId === null ? '' : ` task ${numbers.get(event.taskId) ?? '?'}:`
  const now = new Date()
  return `${secondText(String(event.at), now)}${task} ${localTimes(safe(sentenceOf(event)), now)}`
}

const settled = (goal: GoalView): boolean =>
  (goalEnded(goal.state) && !isLanding(goal)) || goal.state === 'paused' || goal.state === 'awaiting_human'

interface Follower {
  io: Io
  id: string
  client: Client
}

const reconnect = async (follower: Follower): Promise<Client> => {
  follower.client = (await connect(follower.io, { start: true })).client
  return follower.client
}

/** An engine that is just being restarted by its parent does not answer for a moment; that ends nothing. */
const ask = async <T>(follower: Follower, path: string): Promise<T> => {
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

/** The goal once nothing of it moves any more; undefined while something does. */
const settledGoal = async (follower: Follower): Promise<GoalView | undefined> => {
  for (;;) {
    const goal = await ask<GoalView>(follower, `/goals/${follower.id}`)
    if (settled(goal)) return goal
    // A refused landing tells by the goal's reason alone, not by an event.
    if (!isLanding(goal) || follower.io.signal.aborted) return undefined
    await delay(pollMs, undefined, { signal: follower.io.signal }).catch(() => undefined) // aborted: the loop ends
  }
}

/** Events of the goal, a new stream and a heartbeat are reasons to poll the goal; events of its tasks are not. */
const worthALook = (batch: EventView[]): boolean =>
  batch.length === 0 || batch.some((event) => event.type.startsWith('goal.'))

/** The goal was looked at before its last events: what led to the state that ends the command is shown too. */
const showRest = async (follower: Follower, after: () => number, show: (batch: EventView[]) => void): Promise<void> => {
  for (let rest = pageSize; rest === pageSize;) {
    const page = await ask<EventView[]>(follower, `/events?after=${after()}&goal=${follower.id}&limit=${pageSize}`)
    show(page)
    rest = page.length
  }
}

/** A stand-in of `harness.failover` takes a task within this time, if there is one. */
const standInMs = 1_000

/** The limit that all of the goal waits for, if it still does when a stand-in would have begun. */
const limitOfAll = async (follower: Follower): Promise<LimitWait | undefined> => {
  const look = async (): Promise<LimitWait | undefined> => {
    const { tasks } = await ask<GoalView>(follower, `/goals/${follower.id}`)
    return limitWait({ tasks })
  }
  if ((await look()) === undefined) return undefined
  await delay(standInMs, undefined, { signal: follower.io.signal }).catch(() => undefined) // aborted: the follower ends
  return look()
}

export interface FollowOptions {
  json: boolean
  /** Number of the last event that is not shown. */
  after: number
  /** Ends when all of the goal waits for the limit of an account. */
  noWait?: boolean
}

/** Prints the goal's events as they come until it has ended or waits for a person; undefined = the user stopped following. */
export const followGoal = async (
  { io, watch }: Live,
  first: Client,
  { id, json, after: from, noWait = false }: FollowOptions & { id: string },
): Promise<GoalView | LimitWait | undefined> => {
  const follower: Follower = { io, id, client: first }
  const { tasks } = await ask<GoalView>(follower, `/goals/${id}`)
  watch(id, () => follower.client)
  const numbers = new Map(tasks.map((task) => [task.id, task.number]))
  let after = from
  const show = (batch: EventView[]): void => {
    after = batch.at(-1)?.seq ?? after
    for (const event of batch) {
      if (json) printJson(io, event)
      else if (!quietTypes.has(event.type)) line(io, eventLine(event, numbers))
    }
  }
  const following = { first, goal: id, after, signal: io.signal, reconnect: () => reconnect(follower) }
  for await (const batch of followEvents(following)) {
    show(batch)
    const goal = worthALook(batch) ? await settledGoal(follower) : undefined
    const limit = goal === undefined && noWait ? await limitOfAll(follower) : undefined
    if (limit !== undefined) return limit
    if (goal === undefined) continue
    await showRest(follower, () => after, show)
    return goal
  }
  return undefined
}
