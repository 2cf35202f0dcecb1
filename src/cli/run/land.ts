/** The work of `unstuck land`: requests the landing, then follows the goal until it has landed or a person is needed. */
import type { Goal, Metrics } from '../../api/contract.ts'
import { AppError } from '../../errors.ts'
import type { JsonOption } from '../command-options.ts'
import { connectToExisting } from '../engine/connect.ts'
import type { Live } from '../live/live.ts'
import { followToEnd } from './end.ts'

export const landGoalCommand = async (live: Live, id: string, options: JsonOption): Promise<number> => {
  if (!/^g-[a-z0-9]+$/.test(id))
    throw new AppError('USAGE', `"${id}" is not the id of a goal (g-…); "unstuck status" lists the goals`)
  const client = await connectToExisting(live.io, live.say)
  const { events } = await client.get<Metrics>('/metrics')
  const goal = await client.post<Goal>(`/goals/${id}/land`)
  return followToEnd(live, client, goal, { json: options.json ?? false, after: events.last })
}
