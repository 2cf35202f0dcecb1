/** The work of `unstuck run`: reads a goal, finds or starts the engine, and follows the goal to its end. */
import { goalRequest, type Goal, type GoalView, type Health } from '../../api/contract.ts'
import { parse } from '../../api/parse.ts'
import { loadConfig, type Config } from '../../config/config.ts'
import { strictestMode } from '../../domain/judgement.ts'
import type { PlanMode } from '../../domain/task.ts'
import { AppError, exitCodes } from '../../errors.ts'
import { realFiles } from '../../runtime/core/files.ts'
import { chooseHarness } from '../../runtime/harness/harness-choice.ts'
import { checkGoal } from '../../runtime/goal/check-goal.ts'
import type { GoalInput } from '../../runtime/goal/goal-input.ts'
import { settingVariables, variablesWithoutEffect } from '../../config/setting-variables.ts'
import { hadStore } from '../../store/store-markers.ts'
import { repositoryName } from '../../workspace/remote.ts'
import type { Client } from '../engine/client.ts'
import { connect } from '../engine/connect.ts'
import { homeOf, type Home } from '../engine/home.ts'
import { printLine, printJson, type Io } from '../io.ts'
import type { Live } from '../live/live.ts'
import { safe } from '../render.ts'
import { followToEnd } from './end.ts'
import { followGoal } from './follow.ts'
import { ownerRuleLines, readOwnerRules } from './owner-rules.ts'
import {
  checkFolder,
  goalArgument,
  goalCheckLines,
  readGoalInput,
  goalRequestOf,
  showPlan,
  type RunOptions,
} from './request.ts'

/** Reports a harness that cannot be used together with the task that names it. */
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

interface Accepted {
  home: Home
  config: Config
  request: ReturnType<typeof goalRequestOf>
  harnessOf: (name?: string) => string
}

/** What the engine would refuse is refused before one is started, and a plan is shown only of what it would accept. */
export const acceptedRequest = async (
  io: Io,
  words: string[],
  options: RunOptions,
  plan?: PlanMode,
): Promise<Accepted> => {
  const input = options.issue?.input ?? readGoalInput(io, goalArgument(io, words))
  const home = await homeOf(io)
  const config = loadConfig({ root: home.repository.root, environment: io.environment })
  const given = goalRequestOf(io, { home, input, options, config })
  const request = plan === undefined ? given : { ...given, options: { ...given.options, plan, autoMerge: false } }
  checkFolder(home, request.options)
  parse(goalRequest, request, 'the goal')
  checkGoal(realFiles, home.repository.root, request)
  const harnessOf = (name?: string): string =>
    chooseHarness(realFiles, config, name ?? options.harness, io.environment.PATH)
  checkHarnesses(words, input, harnessOf)
  for (const warning of input.warnings) io.error(`warning: ${warning}\n`)
  return { home, config, request, harnessOf }
}

export const runGoal = async (live: Live, words: string[], options: RunOptions): Promise<number> => {
  const { io } = live
  const { home, config, request, harnessOf } = await acceptedRequest(io, words, options)
  if (options.dryRun === true) {
    live.close()
    if (options.json === true) printJson(io, request)
    else await showPlan(io, request, { home, config, harnessOf })
    return exitCodes.ok
  }
  return submit(live, home, { request, options, config })
}

type Request = ReturnType<typeof goalRequestOf>

/** Settings that can go with a goal instead. */
const sendable: Readonly<Record<string, (options: Request['options'], config: Config) => Request['options']>> = {
  JUDGE_MODE: (options, config) => ({ ...options, judge: strictestMode([config.judge.mode, options.judge ?? null]) }),
  UNSTUCK_HARNESS: (options, config) => ({ ...options, harness: options.harness ?? config.harness.default ?? null }),
}

/**
 * What the environment of this command sets has no effect in an engine that was started without it. What can go with the goal does, and
 * is said; anything else is refused, because the work would be done by other rules than the person sees here.
 */
export const withGivenVariables = async (
  io: Io,
  { request, client, home, config }: { request: Request; client: Client; home: Home; config: Config },
): Promise<Request> => {
  const { variables } = await client.get<Health>('/health')
  const lost = variablesWithoutEffect(io.environment, variables ?? settingVariables(io.environment))
  const others = lost.filter((name) => sendable[name] === undefined)
  if (others.length > 0)
    throw new AppError(
      'ENGINE_RUNNING',
      `${others.join(', ')} would have no effect: the running engine of ${repositoryName(home.repository)} was started with other values. Stop it with "unstuck stop" and run again, put the setting into .unstuck, or leave the variable out`,
    )
  for (const name of lost)
    io.error(`${name} is sent with this goal: the running engine was started with another value\n`)
  const options = lost.reduce((next, name) => sendable[name]?.(next, config) ?? next, request.options)
  return { ...request, options }
}

/** Lets the engine plan a goal of which nothing runs, until the planner has ended or a person interrupts the command. */
export const planOnly = async (
  live: Live,
  words: string[],
  options: { harness?: string },
): Promise<{ goal: Goal; client: Client; isInterrupted: boolean }> => {
  const { request, home, config } = await acceptedRequest(live.io, words, { ...options, allowDir: [] }, 'only')
  const { client } = await connect(live.io, { start: true, say: live.say })
  const given = await withGivenVariables(live.io, { request, client, home, config })
  const goal = await client.post<Goal>('/goals', given)
  const end = await followGoal(live, client, { id: goal.id, json: false, after: 0, noWait: false })
  live.close()
  return { goal, client, isInterrupted: end === undefined }
}

const submit = async (
  live: Live,
  home: Home,
  { request, options, config }: { request: Request; options: RunOptions; config: Config },
): Promise<number> => {
  const isFirst = !hadStore(home.stateDir) && home.repository.url === undefined && home.repository.commonDir !== null
  const { client } = await connect(live.io, { start: true, say: live.say })
  live.say('sending the goal to the engine')
  const given = await withGivenVariables(live.io, { request, client, home, config })
  const goal = await client.post<Goal>('/goals', given)
  if (options.json !== true) {
    const view = await client.get<GoalView>(`/goals/${goal.id}`)
    const rules = isFirst ? ownerRuleLines(await readOwnerRules(home.repository)) : []
    for (const text of [...(await goalCheckLines(home, view, live.io.environment.PATH)), ...rules])
      printLine(live.io, safe(text))
  }
  if (options.detach !== true)
    return followToEnd(live, client, goal, {
      json: options.json ?? false,
      after: 0,
      noWait: options.wait === false,
    })
  live.close()
  if (options.json === true) printJson(live.io, goal)
  else
    printLine(
      live.io,
      `The engine works on ${goal.id}; follow it with "unstuck status --watch" or "unstuck events -f".`,
    )
  return exitCodes.ok
}
