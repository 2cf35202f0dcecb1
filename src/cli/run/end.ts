/** How a command that follows a goal ends: what is shown of the goal, and the exit status that stands for it. */
import type { Escalation, Goal, GoalView } from '../../api/contract.ts'
import { exitCodes } from '../../errors.ts'
import type { Client } from '../engine/client.ts'
import { line, printJson, type Io } from '../io.ts'
import { createPaint, goalLines, questionText } from '../render.ts'
import { followGoal } from './follow.ts'

/** What a shell reports for a program that SIGINT ended. */
const interrupted = 130

/** Refusals that no person at this machine clears away by a move of the hand: the work does not fit onto the target. */
const conflicts = new Set(['conflict', 'outrun'])

const exitOfGoal = (goal: GoalView, asked: readonly Escalation[]): number => {
  const { state, landing } = goal
  if (state === 'done' || (state === 'ready' && landing.refused === null)) return exitCodes.ok
  if (state === 'ready')
    return conflicts.has(landing.refused?.reason ?? '') ? exitCodes.conflict : exitCodes.needsPerson
  if (state === 'paused') return exitCodes.needsPerson
  if (state !== 'awaiting_human') return exitCodes.failed
  return asked.some(({ kind }) => kind === 'merge_conflict') ? exitCodes.conflict : exitCodes.needsPerson
}

const showEnd = (io: Io, end: GoalView, { asked, json }: { asked: readonly Escalation[]; json: boolean }): void => {
  if (json) return printJson(io, { type: 'result', goal: end, questions: asked })
  const paint = createPaint(io.colours)
  const lines = [
    ...goalLines(paint, end, new Date().toISOString()),
    ...asked.flatMap((entry) => questionText(paint, entry)),
  ]
  for (const text of ['', ...lines]) line(io, text)
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
    line(io, `\nThe work goes on in the background: "unstuck status" shows it, "unstuck cancel ${goal.id}" ends it.`)
    return interrupted
  }
  const asked = await client.get<Escalation[]>(`/escalations?goal=${end.id}&state=pending`)
  showEnd(io, end, { asked, json })
  return exitOfGoal(end, asked)
}
