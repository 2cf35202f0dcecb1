/** How a command that follows a goal ends: what is shown of the goal, and the exit status that stands for it. */
import type { Escalation, Goal, GoalView } from '../../api/contract.ts'
import { exitCodes } from '../../errors.ts'
import type { Client } from '../engine/client.ts'
import { line, printJson, type Io } from '../io.ts'
import { createPaint, goalLines } from '../render.ts'
import { followGoal } from './follow.ts'

/** What a shell reports for a program that SIGINT ended. */
const interrupted = 130

/** Refusals that no person at this machine clears away by a move of the hand: the work does not fit onto the target. */
const conflicts = new Set(['conflict', 'outrun'])

const exitOfGoal = async (goal: GoalView, client: Client): Promise<number> => {
  const { state, landing } = goal
  if (state === 'done' || (state === 'ready' && landing.refused === null)) return exitCodes.ok
  if (state === 'ready')
    return conflicts.has(landing.refused?.reason ?? '') ? exitCodes.conflict : exitCodes.needsPerson
  if (state === 'paused') return exitCodes.needsPerson
  if (state !== 'awaiting_human') return exitCodes.failed
  const asked = await client.get<Escalation[]>(`/escalations?goal=${goal.id}&state=pending`)
  return asked.some(({ kind }) => kind === 'merge_conflict') ? exitCodes.conflict : exitCodes.needsPerson
}

const showEnd = (io: Io, end: GoalView, asJson: boolean): void => {
  if (asJson) printJson(io, { type: 'result', goal: end })
  else for (const text of ['', ...goalLines(createPaint(io.colours), end, new Date().toISOString())]) line(io, text)
}

/** `after`: number of the last event that is not shown. */
export const followToEnd = async (
  io: Io,
  client: Client,
  goal: Goal,
  { json, after }: { json: boolean; after: number },
): Promise<number> => {
  const end = await followGoal(io, client, { id: goal.id, json, after })
  if (end === undefined) {
    if (json) printJson(io, { type: 'interrupted', goal: goal.id })
    else
      line(io, `\nThe work goes on in the background: "unstuck status" shows it, "unstuck cancel ${goal.id}" ends it.`)
    return interrupted
  }
  showEnd(io, end, json)
  return exitOfGoal(end, client)
}
