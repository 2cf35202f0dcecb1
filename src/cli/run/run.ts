/** The work of `unstuck run`: a goal from a sentence, a checklist or a task file; starts or finds the engine and follows the goal to its end. */
import type { Goal, GoalView } from '../../api/contract.ts'
import { loadConfig } from '../../config.ts'
import { AppError, exitCodes } from '../../errors.ts'
import { realFiles } from '../../runtime/core/files.ts'
import { chooseHarness } from '../../runtime/harness/harness-choice.ts'
import type { GoalInput } from '../../runtime/goal/goal-input.ts'
import type { Client } from '../engine/client.ts'
import { connect } from '../engine/connect.ts'
import { placeOf } from '../engine/place.ts'
import { line, printJson, type Io } from '../io.ts'
import { createPaint, goalLines } from '../render.ts'
import { followGoal } from './follow.ts'
import { checkHere, readInput, requestOf, showPlan, type RunOptions } from './request.ts'

/** What a shell reports for a program that SIGINT ended. */
const interrupted = 130

const exitOfGoal = (state: string): number => {
  if (state === 'done' || state === 'ready') return exitCodes.ok
  return state === 'paused' || state === 'awaiting_human' ? exitCodes.needsPerson : exitCodes.failed
}

/** A harness that cannot be used is reported with the task that names it. */
const checkHarnesses = (words: string[], input: GoalInput, harnessOf: (name?: string) => string): void => {
  for (const [index, task] of input.tasks.entries()) {
    try {
      harnessOf(task.harness)
    } catch (error) {
      if (!(error instanceof AppError) || task.harness === undefined) throw error
      throw new AppError(
        error.code,
        `${words.join(' ')}: harness of task ${index + 1} "${task.title}": ${error.message}`,
      )
    }
  }
}

const followToEnd = async (io: Io, client: Client, goal: Goal, asJson: boolean): Promise<number> => {
  const end = await followGoal(io, client, goal.id, asJson)
  if (end === undefined) {
    line(io, `\nThe work goes on in the background: "unstuck status" shows it, "unstuck cancel ${goal.id}" ends it.`)
    return interrupted
  }
  showEnd(io, end, asJson)
  return exitOfGoal(end.state)
}

const showEnd = (io: Io, end: GoalView, asJson: boolean): void => {
  if (asJson) printJson(io, { type: 'result', goal: end })
  else for (const text of ['', ...goalLines(createPaint(io.colours), end, new Date().toISOString())]) line(io, text)
}

export const run = async (io: Io, words: string[], options: RunOptions): Promise<number> => {
  const input = readInput(io, words.join(' '))
  const place = await placeOf(io)
  const config = loadConfig({ root: place.repository.root, environment: io.environment })
  const request = requestOf(io, { place, input, options, config })
  checkHere(place, request.options)
  const harnessOf = (name?: string): string =>
    chooseHarness(realFiles, config, name ?? options.harness, io.environment.PATH)
  checkHarnesses(words, input, harnessOf)
  for (const warning of input.warnings) io.error(`warning: ${warning}\n`)
  if (options.dryRun === true) {
    if (options.json === true) printJson(io, request)
    else showPlan(io, request, harnessOf)
    return exitCodes.ok
  }
  const { client } = await connect(io, { start: true })
  const goal = await client.post<Goal>('/goals', request)
  if (options.detach !== true) return followToEnd(io, client, goal, options.json ?? false)
  if (options.json === true) printJson(io, goal)
  else line(io, `${goal.id} is in work; watch it with "unstuck status" or "unstuck events -f"`)
  return exitCodes.ok
}
