/**
 * Starts the agent of a run under a shim: store the intent, spawn the shim, store its identity, open the gate; a crash point lies
 * between each two. The agent does not run before the gate is open, so after an earlier crash the launch starts again. After a later
 * crash the engine re-attaches, even where the store does not say yet that the gate was opened.
 */
import { join } from 'node:path'
import { leftOf } from '../../domain/budget.ts'
import { keepAliveMs } from '../../domain/lease.ts'
import { lastLaunch, limitedSpend, type Launch, type LaunchCorrections } from '../../domain/run.ts'
import type { LaunchLine, ToolServer } from '../../harness/driver.ts'
import type { Capabilities } from '../../harness/capabilities.ts'
import type { LaunchSpec, Shim } from '../../process/shim-protocol.ts'
import { allowedEnvironment } from '../../process/environment.ts'
import type { Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { getTask } from '../../store/task.ts'
import type { DetectedCapabilities } from '../harness/detected-capabilities.ts'
import { currentLoginStamp } from '../harness/accounts.ts'
import { deniedTexts, effectiveTexts } from '../core/effective-paths.ts'
import { isConfined } from './confined-launch.ts'
import { buildBrief, type BriefInput } from './brief.ts'
import { briefContext } from './brief-context.ts'
import type { NextLaunch } from './next-launch.ts'
import { firstCorrections } from './first-corrections.ts'
import { undeliveredHint } from './undelivered-hint.ts'
import { recordCheckoutBefore } from './checkout-before.ts'
import { ownersSearchPaths, packageVariables } from '../core/package-variables.ts'
import { portVariables } from '../core/reserved-ports.ts'
import { passedVariables, saveProgress, workTreeOf, type RunContext } from '../core/run-context.ts'
import { earlierReport } from './progress-summary.ts'
import { taskInstructions, loopInstructions } from './role-instructions.ts'
import { turnText, type LoopRole, type LoopState } from '../../domain/loop.ts'
import { defined } from '../../domain/defined.ts'

// What an agent in a role of a loop reads in its brief beside the task: its role, the turn, and what it may write.

const ownFiles: Record<Exclude<LoopRole, 'worker'>, string> = {
  planner: 'the plan',
  tester: 'your reports',
  reviewer: 'your reports',
}

const reportNames =
  'goal.md (the goal in full), plan.md, implementation.md, test-results.json and test-output.txt (the checks as Unstuck ran them), test-report.md, review.md'

const testsLine = ({ tests }: LoopState): string[] =>
  tests === null ? [] : [`Checks of this iteration, run by Unstuck: ${tests.text}`]

const turnLines = ({ paths, task }: RunContext, loop: LoopState): string[] => [
  `This is ${turnText(loop)}.`,
  `The reports of the turns before are in ${paths.agentDir} (also $UNSTUCK_RUN_DIR), those that exist: ${reportNames}.`,
  ...(loop.role === 'planner' && task.commands.length > 0 ? [] : testsLine(loop)),
  ...(loop.open === '' ? [] : [`What the last iteration left open:\n${loop.open}`]),
]

const writesLines = (runContext: RunContext, role: Exclude<LoopRole, 'worker'>): string[] => {
  const { plan_files: planned } = runContext.context.config().loop
  const more = role === 'planner' && planned.length > 0 ? ` and ${planned.join(', ')} in the repository` : ''
  return [
    `Write only ${ownFiles[role]} in ${runContext.paths.agentDir}${more}. Any other change is undone after your turn.`,
  ]
}

const turnBrief = (
  runContext: RunContext,
  loop: LoopState,
): Pick<BriefInput, 'roleText' | 'turnLines'> & { writes?: string[] } => ({
  roleText: loopInstructions(runContext.context, loop.role),
  turnLines: turnLines(runContext, loop),
  ...(loop.role === 'worker' ? {} : { writes: writesLines(runContext, loop.role) }),
})

/** Whether a launch gets the tools of its run, and how. Without them it is the same launch, so nothing here can stop a run. */
const runToolNames = ['propose_recovery', 'report_progress', 'ask_person'] as const

/** Longer than the wait for an answer, so that the tool and not the CLI ends a call. */
const spareSeconds = 30

/** Of every agent, so that a program of the owner's can start `unstuck mcp` by itself. */
const toolVariables = ({ context, run }: RunContext): Record<string, string> =>
  context.config().mcp.enabled ? (context.runTools?.variables(run) ?? {}) : {}

/** Undefined = switched off, or this CLI cannot take them. */
const toolServerFor = (runContext: RunContext, can: Capabilities): ToolServer | undefined => {
  const { context, driver, harness, paths } = runContext
  const { enabled, waitSeconds } = context.config().mcp
  const access = context.runTools
  if (!enabled || access === undefined || can.toolServer !== true) return undefined
  if ((driver.toolServerHides ?? []).some((path) => context.ports.files.existsSync(path))) return undefined
  const inheritable = new Set([...driver.environment, ...passedVariables(context.config(), harness)])
  return {
    command: access.command,
    tools: runToolNames,
    variables: Object.keys(toolVariables(runContext)),
    callSeconds: waitSeconds + spareSeconds,
    folder: paths.root,
    inherited: (name) => (inheritable.has(name) ? context.environment[name] : undefined),
  }
}

const graceMs = 5_000
const lineMaxBytes = 1024 * 1024
const logMaxBytes = 64 * 1024 * 1024

/** Where the agent of a run puts its proposal. */
export const proposalFile = ({ paths }: Pick<RunContext, 'paths'>): string => join(paths.agentDir, 'recovery.json')

const promptOf = async (runContext: RunContext, launch: Launch): Promise<string> => {
  if ((launch.resumeSession !== null || launch.ask !== undefined) && launch.hint !== null) return launch.hint
  const { loop } = runContext.run
  // A person may have said something since the attempt was claimed, and it would wait for an attempt that may never come.
  const said = await getTask(runContext.context.db, runContext.task.id)
  return buildBrief({
    ...(await briefContext(runContext)),
    goal: runContext.goal,
    task: { ...runContext.task, hint: said?.hint ?? null },
    allowedPaths: runContext.fence ?? runContext.task.allowedPaths,
    deniedPaths: deniedTexts(runContext),
    ...(loop === null
      ? { roleText: taskInstructions(runContext.context, runContext.task.role) }
      : turnBrief(runContext, loop)),
    failures: [launch.hint ?? '', earlierReport(runContext) ?? ''].filter((text) => text !== ''),
    runDir: runContext.paths.agentDir,
    // In a loop only the tester proposes, and its instructions say how.
    ...(loop === null && runContext.context.config().recovery?.enabled === true
      ? { proposalFile: proposalFile(runContext) }
      : {}),
  })
}

const writePrompt = async (runContext: RunContext, launch: Launch): Promise<{ prompt: string; promptFile: string }> => {
  const { context, paths } = runContext
  const { files } = context.ports
  const prompt = await promptOf(runContext, launch)
  const promptFile = join(paths.root, `prompt-${launch.number}.md`)
  files.mkdirSync(paths.agentDir, { recursive: true })
  files.writeFileSync(promptFile, prompt)
  return { prompt, promptFile }
}

/** A role of a loop may have a model of its own. That of the task belongs to the harness of the task. */
const modelOf = ({ context, harness, run, task }: RunContext): string | null | undefined => {
  const own = run.loop === null ? undefined : context.config().loop.roles[run.loop.role]
  if (own?.model !== undefined && (own.harness ?? run.harness) === run.harness) return own.model
  return run.harness === task.harness ? (task.model ?? harness.model) : harness.model
}

const lineOf = async (runContext: RunContext, launch: Launch, can: Capabilities): Promise<LaunchLine> => {
  const { harness, driver, paths, task } = runContext
  const toolServer = toolServerFor(runContext, can)
  const model = modelOf(runContext)
  return driver.launch({
    can,
    ...(await writePrompt(runContext, launch)),
    workspace: workTreeOf(runContext),
    runDir: paths.agentDir,
    addDirs: launch.corrections.addDirs,
    skipGitCheck: launch.corrections.skipGitCheck,
    commands: task.commands,
    toolRules: launch.corrections.toolRules ?? [],
    extraArgs: harness.args ?? [],
    ...(model === undefined || model === null ? {} : { model }),
    ...(launch.resumeSession === null ? {} : { resumeSession: launch.resumeSession }),
    ...defined({ program: harness.command }),
    ...(harness.unrestricted === true ? { unrestricted: true } : {}),
    ...defined({ promptMode: harness.promptMode, toolServer }),
  })
}

const specOf = (runContext: RunContext, line: LaunchLine): LaunchSpec => {
  const { context, goal, run } = runContext
  const spent = limitedSpend(run, goal.spend).run.seconds
  const left = Math.min(leftOf(goal.limits.runSeconds, spent) * 1000, Number.MAX_SAFE_INTEGER)
  return {
    marker: run.id,
    argv: line.argv,
    cwd: line.cwd,
    // In direct mode the agent works in the user's folder: other programs there are not ours to end.
    ...(goal.repoMode === 'direct' ? {} : { ownFolder: workTreeOf(runContext) }),
    stdinFile: line.stdinFile,
    limitMs: Math.max(1_000, left),
    keepAliveMs: keepAliveMs(context.config().lease.ttlSeconds),
    graceMs,
    lineMaxBytes,
    logMaxBytes,
  }
}

/** For programs that play several roles. */
const turnVariables = ({ run: { loop } }: RunContext): Record<string, string> =>
  loop === null ? {} : { UNSTUCK_ROLE: loop.role, UNSTUCK_ITERATION: String(loop.iteration) }

const searchPathsOf = (runContext: RunContext): Record<string, string> =>
  ownersSearchPaths(workTreeOf(runContext), {
    root: runContext.context.repository.root,
    environment: runContext.context.environment,
  })

const environmentOf = (runContext: RunContext, line: LaunchLine): Record<string, string> =>
  allowedEnvironment(
    runContext.context.environment,
    [...runContext.driver.environment, ...passedVariables(runContext.context.config(), runContext.harness)],
    {
      ...line.env,
      ...packageVariables(runContext.context.ports.files, workTreeOf(runContext)),
      ...searchPathsOf(runContext),
      ...portVariables(runContext.ports),
      ...toolVariables(runContext),
      ...runContext.context.ports.git.traceVariables(runContext.paths.gitTrace),
      UNSTUCK_RUN_DIR: runContext.paths.agentDir,
      ...turnVariables(runContext),
    },
  )

export const withLastLaunch = (launches: Launch[], last: Launch): Launch[] => [...launches.slice(0, -1), last]

/** The fields of a launch before its shim is spawned. */
const notStarted = { shim: null, gateOpened: false, startedAt: null, spend: null } as const

const firstLaunch = (corrections: LaunchCorrections, hint: string | null): Launch => ({
  number: 1,
  corrections,
  resumeSession: null,
  hint,
  ...notStarted,
})

export const correctedLaunch = (last: Pick<Launch, 'number' | 'turn' | 'harness'>, change: NextLaunch): Launch => ({
  number: last.number + 1,
  ...change,
  ...defined({ turn: last.turn, harness: last.harness }),
  ...notStarted,
})

/** Records the CLI and its version, and the version with which its behaviour was measured. */
const recordLaunch = async (
  tx: Queryable,
  { run, driver }: RunContext,
  { version, measured, exact }: DetectedCapabilities,
): Promise<void> => {
  const { number, resumeSession } = lastLaunch(run) as Launch
  const { goalId, taskId, id: runId } = run
  await appendEvent(tx, {
    type: 'run.launched',
    ...{ goalId, taskId, runId },
    payload: { launch: number, driver: driver.name, version, measured, exact, resumed: resumeSession !== null },
  })
}

/** Whether the agent of the newest launch may have run. Decided by the gate file: the store is written after it, and a crash may lie between. */
export const mayHaveRun = ({ context, paths, run }: RunContext): boolean => {
  const launch = lastLaunch(run)
  if (launch === undefined) return false
  return launch.gateOpened || context.ports.files.existsSync(join(paths.launch(launch.number), 'gate'))
}

/** The shim of a launch whose gate is closed: one left by a crash, or a new one. Undefined = the gate is open, the agent runs. */
const shimAtGate = async (runContext: RunContext, launch: Launch, can: Capabilities): Promise<Shim | undefined> => {
  const { files, processes } = runContext.context.ports
  const dir = runContext.paths.launch(launch.number)
  const found = processes.launchState(dir)
  if (found.state === 'at-gate') {
    await recordCheckoutBefore(runContext)
    return found.shim
  }
  if (files.existsSync(join(dir, 'gate'))) return undefined
  // The agent never ran: at most a crash left a shim without its gate.
  files.rmSync(dir, { recursive: true, force: true })
  // Only what this launch writes is a proposal: a file from before was read, or nobody knows who wrote it.
  files.rmSync(proposalFile(runContext), { recursive: true, force: true })
  const line = await lineOf(runContext, launch, can)
  files.mkdirSync(runContext.paths.gitTrace, { recursive: true })
  for (const { path, text } of line.files ?? []) files.writeFileSync(path, text, { mode: 0o600 })
  // The checkout must be read before the agent runs. It waits at the gate, so it can be read while the shim starts.
  const [shim] = await Promise.all([
    processes.startShim(dir, specOf(runContext, line), environmentOf(runContext, line)),
    recordCheckoutBefore(runContext),
  ])
  return shim
}

/** Phase `launch`: continues the newest launch from the step where a crash left it, until the agent runs. */
export const startLaunch = async (runContext: RunContext, abilities: DetectedCapabilities): Promise<void> => {
  await runContext.context.renewSettings?.()
  const { context, paths } = runContext
  if (lastLaunch(runContext.run) === undefined)
    await saveProgress(runContext, {
      launches: [firstLaunch(await firstCorrections(runContext), await undeliveredHint(runContext))],
    })
  const launch = lastLaunch(runContext.run) as Launch
  runContext.fence = await effectiveTexts(runContext)
  context.at('launch-intended')
  const shim = await shimAtGate(runContext, launch, abilities.capabilities)
  context.at('after-spawn')
  if (shim !== undefined) {
    const started = {
      ...{ ...launch, shim: shim.identity, startedAt: context.clock.now().toISOString() },
      confined: isConfined(runContext, launch, abilities.capabilities),
      loginBefore: currentLoginStamp(context, runContext.run.harness),
    }
    await saveProgress(runContext, { launches: withLastLaunch(runContext.run.launches, started) })
    context.at('identity-committed')
    context.ports.processes.openGate(paths.launch(launch.number))
  }
  context.at('gate-open')
  const opened = { ...(lastLaunch(runContext.run) as Launch), gateOpened: true }
  await context.db.transaction(async (tx) => {
    await saveProgress(
      runContext,
      { phase: 'supervise', launches: withLastLaunch(runContext.run.launches, opened) },
      tx,
    )
    await recordLaunch(tx, runContext, abilities)
  })
}
