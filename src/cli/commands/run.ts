/** `unstuck run`: a goal from a sentence, a checklist or a task file; starts or finds the engine and follows it to the end. */
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { loadConfig, type Config } from '../../config.ts'
import type { Goal, GoalView, StoredEvent } from '../../api/contract.ts'
import { AppError, exitCodes } from '../../errors.ts'
import { goalEnded } from '../../domain/goal.ts'
import { readGoal, type GoalInput } from '../../runtime/goal-input.ts'
import { chooseHarness } from '../../runtime/harness-choice.ts'
import { realFiles } from '../../runtime/files.ts'
import { sentenceOf } from '../../runtime/explain.ts'
import { connect, placeOf, type Client, type Place } from '../client.ts'
import { followEvents } from '../event-stream.ts'
import { line, printJson, type Io } from '../io.ts'
import { clockOf, createPaint, goalLines, safe } from '../render.ts'

export interface RunOptions {
  merge?: boolean
  direct?: boolean
  allowDir: string[]
  harness?: string
  dryRun?: boolean
  detach?: boolean
  json?: boolean
  maxSeconds?: number
  maxTokens?: number
  maxCost?: number
}

const pollMs = 250

const readInput = (io: Io, argument: string): GoalInput =>
  readGoal(argument, (name) => {
    const path = resolve(io.cwd, name)
    const found = statSync(path, { throwIfNoEntry: false })
    if (found?.isDirectory() === true)
      throw new AppError(
        'INPUT_INVALID',
        `${name}: it is a folder; give a checklist (.md) or a task file (.json), or write the goal as a sentence`,
      )
    if (found?.isFile() !== true) return undefined
    // One byte over the limit is enough for the reader to refuse it.
    if (found.size > 1024 * 1024)
      throw new AppError('INPUT_INVALID', `${name}: it is larger than 1 MiB; split it into several goals`)
    return readFileSync(path)
  })

const allowedDir = (io: Io, text: string): string => {
  const path = isAbsolute(text) ? text : resolve(io.cwd, text)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new AppError(
      'INPUT_INVALID',
      `--allow-dir ${text}: there is no such directory; create it first, or correct the path`,
    )
  }
  return realpathSync(path)
}

const modeOf = (place: Place, options: RunOptions, config: Config): 'local' | 'direct' | 'remote' => {
  if (place.repository.url === undefined) return options.direct === true ? 'direct' : config.repoMode
  if (options.direct !== true) return 'remote'
  throw new AppError('USAGE', '--direct works in a folder, and --repo names a repository by URL; leave one of them out')
}

interface Asked {
  place: Place
  input: GoalInput
  options: RunOptions
  config: Config
}

const requestOf = (io: Io, { place, input, options, config }: Asked) => ({
  input,
  options: {
    autoMerge: options.merge ?? config.autoMerge,
    repoMode: modeOf(place, options, config),
    allowedDirs: options.allowDir.map((text) => allowedDir(io, text)),
    harness: options.harness ?? null,
    limits: {
      ...(options.maxSeconds === undefined ? {} : { runSeconds: options.maxSeconds }),
      ...(options.maxTokens === undefined ? {} : { goalTokens: options.maxTokens }),
      ...(options.maxCost === undefined ? {} : { goalCostUsd: options.maxCost }),
    },
  },
})

const checkHere = (place: Place, options: ReturnType<typeof requestOf>['options']): void => {
  const { repository } = place
  if (options.repoMode !== 'local') return
  if (repository.commonDir === null) {
    throw new AppError(
      'NOT_A_REPOSITORY',
      `${repository.root} is not a git repository; run "git init" and commit there, or use --direct to work in place`,
    )
  }
  if (repository.head === null)
    throw new AppError('REPOSITORY_STATE', `${repository.root} has no commit yet; make a first commit, then run again`)
}

const showPlan = (
  io: Io,
  input: GoalInput,
  request: ReturnType<typeof requestOf>,
  harnessOf: (name?: string) => string,
): void => {
  line(io, input.title)
  for (const [index, task] of input.tasks.entries()) {
    const after = task.after.length === 0 ? '' : `, after ${task.after.join(', ')}`
    line(io, `  ${index + 1}. ${task.title} (${harnessOf(task.harness)}${after})`)
    line(
      io,
      `     may change: ${task.allowedPaths.join(', ')}; checks: ${task.commands.length === 0 ? 'from the configuration, else inferred' : task.commands.join(' ; ')}`,
    )
  }
  const branch = request.options.repoMode === 'remote' ? 'branch that HEAD names there' : 'checked-out branch'
  const landing = request.options.autoMerge ? `, then the ${branch} is fast-forwarded` : ''
  line(
    io,
    request.options.repoMode === 'direct'
      ? 'Works in place; no commit is made.'
      : `Lands on a branch unstuck/goal/<id>${landing}.`,
  )
}

export const exitOfGoal = (state: string): number => {
  if (state === 'done' || state === 'ready') return exitCodes.ok
  return state === 'paused' || state === 'awaiting_human' ? exitCodes.needsPerson : exitCodes.failed
}

const quietTypes = new Set(['run.phase', 'run.launched', 'agent.registered', 'task.created'])

const eventLine = (event: StoredEvent, numbers: Map<string, number>): string => {
  const task = event.taskId === null ? '' : ` task ${numbers.get(event.taskId) ?? '?'}:`
  return `${clockOf(String(event.at))}${task} ${safe(sentenceOf(event))}`
}

/** Its landing is the engine's next step; its reason is the bare merge command until a landing was refused. */
const landing = (goal: GoalView): boolean =>
  goal.state === 'ready' && goal.autoMerge && goal.targetBranch !== null && goal.reason === goal.mergeCommand

const settled = (goal: GoalView): boolean =>
  (goalEnded(goal.state) && !landing(goal)) || goal.state === 'paused' || goal.state === 'awaiting_human'

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
    if (!landing(goal) || follower.io.signal.aborted) return undefined
    await delay(pollMs, undefined, { signal: follower.io.signal }).catch(() => undefined) // aborted: the loop ends
  }
}

/** What a goal says of itself, a new stream and a sign of life are reasons to look; a task's own steps are not. */
const worthALook = (batch: StoredEvent[]): boolean =>
  batch.length === 0 || batch.some((event) => event.type.startsWith('goal.'))

/** Prints the goal's events as they come until it has ended or waits for a person. */
export const followGoal = async (io: Io, first: Client, id: string, json: boolean): Promise<GoalView | undefined> => {
  const follower: Follower = { io, id, client: first }
  const { tasks } = await ask<GoalView>(follower, `/goals/${id}`)
  const numbers = new Map(tasks.map((task) => [task.id, task.number]))
  let after = 0
  const show = (batch: StoredEvent[]): void => {
    after = batch.at(-1)?.id ?? after
    for (const event of batch) {
      if (json) printJson(io, event)
      else if (!quietTypes.has(event.type)) line(io, eventLine(event, numbers))
    }
  }
  const following = { first, goal: id, signal: io.signal, reconnect: () => reconnect(follower) }
  for await (const batch of followEvents(following)) {
    show(batch)
    const goal = worthALook(batch) ? await settledGoal(follower) : undefined
    if (goal === undefined) continue
    // The goal was looked at before its last events: what led to the state that ends this is shown too.
    for (let rest = 500; rest === 500;) {
      const page = await ask<StoredEvent[]>(follower, `/events?after=${after}&goal=${id}&limit=500`)
      show(page)
      rest = page.length
    }
    return goal
  }
  return undefined
}

export const run = async (io: Io, words: string[], options: RunOptions): Promise<number> => {
  const input = readInput(io, words.join(' '))
  const place = await placeOf(io)
  const config = loadConfig({ root: place.repository.root, environment: io.environment })
  const request = requestOf(io, { place, input, options, config })
  checkHere(place, request.options)
  const harnessOf = (name?: string): string =>
    chooseHarness(realFiles, config, name ?? options.harness, io.environment.PATH)
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
  for (const warning of input.warnings) io.error(`warning: ${warning}\n`)
  if (options.dryRun === true) {
    if (options.json === true) printJson(io, request)
    else showPlan(io, input, request, harnessOf)
    return exitCodes.ok
  }
  const { client } = await connect(io, { start: true })
  const goal = await client.post<Goal>('/goals', request)
  if (options.detach === true) {
    if (options.json === true) printJson(io, goal)
    else line(io, `${goal.id} is in work; watch it with "unstuck status" or "unstuck events -f"`)
    return exitCodes.ok
  }
  const end = await followGoal(io, client, goal.id, options.json ?? false)
  if (end === undefined) {
    line(io, `\nThe work goes on in the background: "unstuck status" shows it, "unstuck cancel ${goal.id}" ends it.`)
    return 130
  }
  if (options.json === true) printJson(io, { type: 'result', goal: end })
  else for (const text of ['', ...goalLines(createPaint(io.colours), end, new Date().toISOString())]) line(io, text)
  return exitOfGoal(end.state)
}
