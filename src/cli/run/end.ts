/** Ends a command that follows a goal: shows the goal, asks its questions, and returns the exit status. */
import type { Escalation, Goal, GoalView } from '../../api/contract.ts'
import { exitCodes } from '../../errors.ts'
import type { Client } from '../engine/client.ts'
import { printLine, printJson, type Io } from '../io.ts'
import type { Live } from '../live/live.ts'
import { createPaint, goalLines, questionText } from '../render.ts'
import { askAtEnd } from './ask.ts'
import { whenText } from '../times.ts'
import { followGoal, type FollowGoalOptions } from './follow.ts'
import type { LimitWait } from './limit-wait.ts'

/** What a shell reports for a program that SIGINT ended. */
export const interrupted = 130

/** Refusals that mean a conflict with the target branch. Others, such as a checkout that is not clean, a person can resolve at once. */
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
  for (const text of ['', ...lines]) printLine(io, text)
}

const showLimit = (io: Io, { harness, until }: LimitWait, { goal, json }: { goal: Goal; json: boolean }): void => {
  if (json) return printJson(io, { type: 'waiting', goal: goal.id, harness, until: new Date(until).toISOString() })
  const limit =
    harness === null ? 'The limit of tokens per hour (limits.hourTokens) is reached' : `${harness} is at its limit`
  printLine(io, `\n${limit}, which ends ${whenText(until, Date.now())}; the engine then continues the goal.`)
  printLine(io, `"unstuck status" shows the goal, "unstuck cancel ${goal.id}" cancels it.`)
}

export const followToEnd = async (
  live: Live,
  client: Client,
  goal: Goal,
  options: FollowGoalOptions,
): Promise<number> => {
  const { io } = live
  const { json } = options
  const end = await followGoal(live, client, { id: goal.id, ...options })
  live.close()
  if (end === undefined) {
    if (json) printJson(io, { type: 'interrupted', goal: goal.id })
    else
      printLine(
        io,
        `\nThe work continues in the background: "unstuck status" shows it, "unstuck cancel ${goal.id}" cancels it.`,
      )
    return interrupted
  }
  if ('until' in end) {
    showLimit(io, end, { goal, json })
    return exitCodes.waiting
  }
  const asked = await client.get<Escalation[]>(`/escalations?goal=${end.id}&state=pending`)
  showEnd(io, end, { asked, json })
  if (!json && asked.length > 0) await askAtEnd(io, client, end.id)
  // The status is that of the goal when it ended, whatever the person has answered since.
  return exitOfGoal(end, asked)
}
