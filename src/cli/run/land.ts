/** The work of `unstuck land`: requests the landing, then follows the goal until it has landed or a person is needed. */
import type { DiffView, Goal, GoalView, Metrics } from '../../api/contract.ts'
import { AppError, exitCodes } from '../../errors.ts'
import { sentenceOf } from '../../runtime/people/event-sentences.ts'
import type { JsonOption } from '../command-options.ts'
import type { Client } from '../engine/client.ts'
import { connect } from '../engine/connect.ts'
import { connectToExisting } from '../engine/connect-to-change.ts'
import { followEvents } from '../engine/follow-events.ts'
import { printJson, printLine } from '../io.ts'
import { safe } from '../render.ts'
import { visibleText } from '../../visible-text.ts'
import type { Live } from '../live/live.ts'
import { followToEnd, interrupted } from './end.ts'
import { defined } from '../../domain/defined.ts'

/** The parts of a patch about these files. */
const hunksOf = (patch: string, files: readonly string[]): string =>
  patch
    .split(/^(?=diff --git )/m)
    .filter((part) => files.some((path) => part.startsWith(`diff --git a/${path} `)))
    .join('')

/** Before anything lands: which tests of the base commit expect something else after the work, and what was changed there. */
const showExpectations = async ({ io }: Live, client: Client, { tasks }: GoalView): Promise<void> => {
  for (const { number, title, run } of tasks) {
    const proof = run?.expectations
    if (run === null || proof === null || proof === undefined) continue
    printLine(io, safe(`Task ${number} "${title}" changed what these tests expect: ${proof.tests.join(', ')}`))
    const view = await client.get<DiffView>(`/runs/${run.id}/diff`)
    for (const text of hunksOf(view.diff, proof.files).split('\n')) if (text !== '') printLine(io, visibleText(text))
  }
}

export interface LandOptions extends JsonOption {
  done?: boolean
  into?: string
}

/** Shows the events of the goal until its finished part has landed or a person is needed; the rest of the goal goes on. */
const followPart = async (
  live: Live,
  client: Client,
  { id, after, json }: { id: string; after: number; json: boolean },
): Promise<number> => {
  const { io } = live
  const reconnect = async (): Promise<Client> => (await connect(io, { start: true })).client
  for await (const batch of followEvents({ first: client, goal: id, after, signal: io.signal, reconnect })) {
    for (const event of batch) {
      if (json) printJson(io, event)
      else if (event.type.startsWith('goal.')) printLine(io, safe(sentenceOf(event)))
      if (event.type === 'goal.part_landed') return exitCodes.ok
      if (event.type === 'goal.not_landed') return exitCodes.needsPerson
      if (event.type === 'goal.cancelled' || event.type === 'goal.failed') return exitCodes.failed
    }
  }
  return interrupted
}

export const landGoalCommand = async (live: Live, id: string, options: LandOptions): Promise<number> => {
  if (!/^g-[a-z0-9]+$/.test(id))
    throw new AppError('USAGE', `"${id}" is not the id of a goal (g-…); "unstuck status" lists the goals`)
  const client = await connectToExisting(live.io, live.say)
  const { events } = await client.get<Metrics>('/metrics')
  if (options.json !== true) await showExpectations(live, client, await client.get<GoalView>(`/goals/${id}`))
  const { done, into } = options
  // An engine that is older than this command knows no order.
  const order = done === undefined && into === undefined ? undefined : { ...defined({ done, into }) }
  const goal = await client.post<Goal>(`/goals/${id}/land`, order)
  if (goal.landing.part === true && goal.state !== 'ready')
    return followPart(live, client, { id, after: events.last, json: options.json ?? false })
  return followToEnd(live, client, goal, { json: options.json ?? false, after: events.last })
}
