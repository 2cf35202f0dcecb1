/** One launch of a question's agent under a shim, from its start to its conclusion. No process of it is left afterwards. */
import { join } from 'node:path'
import { addSpend, leftOf, noSpend, overrunOf, overrunText, type Overrun, type Spend } from '../../domain/budget.ts'
import { keepAliveMs } from '../../domain/lease.ts'
import type { AgentExit, Conclusion, LaunchLine, Transcript } from '../../harness/driver.ts'
import { allowedEnvironment } from '../../process/environment.ts'
import { AppError, messageOf } from '../../errors.ts'
import type { LaunchSpec, Shim } from '../../process/shim-protocol.ts'
import type { DetectedCapabilities } from '../harness/detected-capabilities.ts'
import type { HarnessChoice } from '../harness/harness-choice.ts'
import { passedVariables, stopSignal } from '../core/run-context.ts'
import type { AskContext } from './ask-context.ts'
import { keepAlive } from './follow-launch.ts'
import { watchTurn } from './turn-watch.ts'
import { defined } from '../../domain/defined.ts'

const graceMs = 5_000
const lineMaxBytes = 1024 * 1024
const logMaxBytes = 16 * 1024 * 1024
/** Of a program without events, whose whole output is the answer; a longer one is not read as an answer. */
const longestOutput = 256 * 1024

/** A question that is being asked. */
export interface OpenQuestion extends HarnessChoice {
  runContext: AskContext
  /** The question's own folder below the run's. */
  folder: string
  /** Folder with the code. */
  view: string
  abilities: DetectedCapabilities
  model: string | undefined
  /** Spent by earlier launches of this question. */
  spent: Spend
}

export interface QuestionLaunch {
  number: number
  prompt: string
  limitMs: number
}

export type QuestionEnd = {
  spend: Spend
  reading: Transcript
} & (
  | { kind: 'concluded'; conclusion: Conclusion; endedAt: Date }
  | { kind: 'budget'; overrun: Overrun }
  | { kind: 'timeout' }
  | { kind: 'stopped' }
  | { kind: 'lost' }
)

const environmentOf = ({ driver, runContext, harness }: OpenQuestion): string[] => [
  ...driver.environment,
  ...passedVariables(runContext.context.config(), harness),
]

/** Names of the owner's servers of tools, which the question must switch off one by one. */
const toolServersOf = async (open: OpenQuestion): Promise<string[]> => {
  const { runContext, driver, harness, view } = open
  const [program, ...args] = harness.command ?? (driver.defaultProgram === null ? [] : [driver.defaultProgram])
  if (driver.toolServers === undefined || program === undefined) return []
  const { context } = runContext
  const options = {
    ...{ cwd: view, signal: stopSignal(runContext) },
    env: allowedEnvironment(context.environment, environmentOf(open), {}),
  }
  const listed = await context.ports.processes.printedBy(program, [...args, ...driver.toolServers.args], options)
  return driver.toolServers.namesIn(listed)
}

const lineOf = async (open: OpenQuestion, { number, prompt }: QuestionLaunch): Promise<LaunchLine> => {
  const { files } = open.runContext.context.ports
  const { driver, harness, folder, view, abilities, model } = open
  const promptFile = join(folder, `prompt-${number}.md`)
  const runDir = join(folder, 'scratch')
  files.mkdirSync(runDir, { recursive: true, mode: 0o700 })
  files.writeFileSync(promptFile, prompt, { mode: 0o600 })
  const toolServers = await toolServersOf(open)
  return driver.question({
    toolServers,
    ...{ can: abilities.capabilities, prompt, promptFile, workspace: view, runDir, extraArgs: harness.args ?? [] },
    ...defined({ model, program: harness.command, promptMode: harness.promptMode }),
  })
}

const startProgram = async (open: OpenQuestion, launch: QuestionLaunch, dir: string): Promise<Shim> => {
  const { context, run } = open.runContext
  const line = await lineOf(open, launch)
  const spec: LaunchSpec = {
    // The run's own marker: whatever ends the processes of the run finds these as well.
    ...{ marker: run.id, argv: line.argv, cwd: line.cwd, ownFolder: open.view, stdinFile: line.stdinFile },
    ...{ limitMs: launch.limitMs, keepAliveMs: keepAliveMs(context.config().lease.ttlSeconds), graceMs },
    ...{ lineMaxBytes, logMaxBytes },
  }
  const added = { ...line.env, UNSTUCK_RUN_DIR: join(open.folder, 'scratch') }
  return context.ports.processes.startShim(
    dir,
    spec,
    allowedEnvironment(context.environment, environmentOf(open), added),
  )
}

/** Tokens of a fresh session, so nothing of earlier launches is in them. */
export const questionSpend = ({ tokens, costUsd }: Transcript, durationMs: number): Spend => ({
  tokens: Math.max(0, tokens.input - tokens.cachedInput + tokens.output),
  costUsd: costUsd ?? 0,
  seconds: Math.max(0, durationMs / 1000),
})

interface Heard {
  reading: Transcript
  output: string
  overrun?: Overrun
}

/** Reads the output to its end; the launch is stopped at a limit of the budget, or when the CLI lingers after its answer. */
const listen = async (open: OpenQuestion, dir: string, shim: Shim, heard: Heard): Promise<void> => {
  const { runContext, driver } = open
  const { context, goal, run } = runContext
  const { processes } = context.ports
  const began = context.clock.elapsed()
  const turn = watchTurn(
    context.clock,
    () => context.config().stall.lingerSeconds,
    (cause) => processes.requestStop(shim, cause),
  )
  const checkBudget = (): void => {
    if (heard.overrun !== undefined) return
    const now = addSpend(open.spent, questionSpend(heard.reading, context.clock.elapsed() - began))
    const overrun = overrunOf(goal.limits, addSpend(run.spend, now), goal.spend)
    if (overrun === undefined) return
    heard.overrun = overrun
    processes.requestStop(shim, 'budget')
  }
  const endChecks = context.clock.every(1_000, checkBudget)
  try {
    for await (const item of processes.follow(dir, { signal: stopSignal(runContext) })) {
      if (!('line' in item)) continue
      heard.reading = driver.read(heard.reading, item.stream, item.line).transcript
      if (item.stream === 'stdout' && heard.output.length <= longestOutput) heard.output += `${item.line}\n`
      turn.onLine(heard.reading)
      checkBudget()
    }
  } finally {
    endChecks()
    turn.end()
  }
}

/** The engine stops, the run was cancelled or its lease is lost: the answer is of no use, and its agent must not go on spending. */
const abandon = async (runContext: AskContext, dir: string, shim: Shim): Promise<void> => {
  const { processes } = runContext.context.ports
  const cancelled = runContext.abort.signal.reason === 'cancelled'
  processes.requestStop(shim, cancelled ? 'cancelled' : 'abandoned')
  // At a shutdown the shim ends its tree by itself.
  if (!runContext.context.stopping.aborted) await processes.waitForExit(dir, { deadlineMs: 60_000 })
}

const conclusionOf = (open: OpenQuestion, { reading, output }: Heard, exit: AgentExit): Conclusion => {
  const conclusion = open.driver.conclude(reading, exit)
  return conclusion.ok && open.driver.answersOnStdout === true ? { ok: true, text: output } : conclusion
}

/** Ends whatever is left of a launch, by force: while it lives, no other agent of its task may start. */
const sweepLaunch = ({ runContext, view }: OpenQuestion, shim: Shim): Promise<unknown> =>
  runContext.context.ports.processes.sweep(runContext.run.id, { shims: [shim.identity], folder: view })

/** First its shim: one whose gate was just opened has no program yet that a sweep could end, and would start it afterwards. */
const endUnheard = async (open: OpenQuestion, dir: string, shim: Shim): Promise<void> => {
  try {
    await abandon(open.runContext, dir, shim)
  } finally {
    await sweepLaunch(open, shim)
  }
}

const endOf = async (open: OpenQuestion, dir: string, shim: Shim, heard: Heard): Promise<QuestionEnd> => {
  const { reading } = heard
  const { runContext } = open
  const { processes } = runContext.context.ports
  const state = processes.launchState(dir)
  if (state.state !== 'ended') {
    await sweepLaunch(open, shim)
    return { kind: 'lost', spend: questionSpend(reading, 0), reading }
  }
  const { exit } = state
  const known = { spend: questionSpend(reading, exit.durationMs), reading }
  if (exit.cause === 'limit') return { kind: 'timeout', ...known }
  if (heard.overrun !== undefined && exit.cause === 'budget')
    return { kind: 'budget', overrun: heard.overrun, ...known }
  const endedAt = new Date(exit.endedAt)
  if (exit.spawnError !== undefined) {
    const error = { source: 'exit', type: 'bad_exit', text: exit.spawnError } as const
    return { kind: 'concluded', conclusion: { ok: false, fatal: true, error }, endedAt, ...known }
  }
  const { code, signal, cause } = exit
  const conclusion = conclusionOf(open, heard, { code, signal, ...defined({ stopCause: cause }) })
  return { kind: 'concluded', conclusion, endedAt, ...known }
}

/** An error = the program could not be started. What fails later ends the launch, and no process of it is left. */
export const launchQuestion = async (open: OpenQuestion, launch: QuestionLaunch): Promise<QuestionEnd | AppError> => {
  const { runContext } = open
  const { context } = runContext
  const dir = join(open.folder, String(launch.number))
  const shim = await startProgram(open, launch, dir).catch((error: unknown) => {
    if (error instanceof AppError) return error
    throw error
  })
  if (shim instanceof AppError) return shim
  const began = context.clock.elapsed()
  const heard: Heard = { reading: open.driver.emptyTranscript(), output: '' }
  const stopKeepAlive = runContext.claim?.keepAlive(dir) ?? keepAlive(runContext, dir)
  const isStopped = (): boolean => stopSignal(runContext).aborted
  try {
    context.ports.processes.openGate(dir)
    await listen(open, dir, shim, heard)
    if (!isStopped()) return await endOf(open, dir, shim, heard)
    await abandon(runContext, dir, shim)
  } catch (error) {
    context.log.warn({ run: runContext.run.id, error: messageOf(error) }, 'a question could not be followed to its end')
    await endUnheard(open, dir, shim)
  } finally {
    stopKeepAlive()
  }
  const spend = questionSpend(heard.reading, context.clock.elapsed() - began)
  return { kind: isStopped() ? 'stopped' : 'lost', spend, reading: heard.reading }
}

export const budgetText = (end: Extract<QuestionEnd, { kind: 'budget' }>): string => overrunText(end.overrun)

/** Milliseconds until a limit of seconds is reached, of the run or of its goal. */
export const secondsLeftMs = ({ goal, run }: AskContext, spent: Spend = noSpend): number => {
  const used = run.spend.seconds + spent.seconds
  const { runSeconds, goalSeconds } = goal.limits
  return Math.min(leftOf(runSeconds, used), leftOf(goalSeconds, goal.spend.seconds + used)) * 1000
}
