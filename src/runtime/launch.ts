/**
 * Starts the agent of a run under a shim: intent, spawn, committed identity, open gate, each with a crash point between.
 * Until the gate is open the agent has not run, so a crash before that is simply begun again; after it the launch is
 * re-attached, whatever the store says.
 */
import { constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { keepAliveMs } from '../domain/lease.ts'
import { lastLaunch, noCorrections, type Launch } from '../domain/run.ts'
import type { Capabilities } from '../harness/capabilities.ts'
import type { LaunchLine } from '../harness/driver.ts'
import type { LaunchSpec } from '../process/contract.ts'
import { allowedEnvironment } from '../process/environment.ts'
import type { Queryable } from '../store/db.ts'
import { appendEvent } from '../store/event.ts'
import type { Abilities } from './abilities.ts'
import { buildBrief, defaultRoleText } from './brief.ts'
import type { Files } from './files.ts'
import { rememberRefs } from './ref-guard.ts'
import { passedNames, save, workTreeOf, type Session } from './session.ts'
import { handOverText } from './work-so-far.ts'

const graceMs = 5_000
const lineMaxBytes = 1024 * 1024
const logMaxBytes = 64 * 1024 * 1024

const isProgram = (files: Files, path: string): boolean => {
  try {
    files.accessSync(path, constants.X_OK)
    return files.statSync(path).isFile()
  } catch {
    return false // not there, or not for this user
  }
}

/**
 * The program of an argv as found on PATH, or as given when it is a path (a relative one is taken from the workspace, which
 * is not there yet); undefined = not installed.
 */
export const findProgram = (files: Files, program: string, path: string | undefined): string | undefined => {
  if (isAbsolute(program)) return isProgram(files, program) ? program : undefined
  if (program.includes('/')) return program
  return (path ?? '')
    .split(delimiter)
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, program))
    .find((candidate) => isProgram(files, candidate))
}

const promptOf = (session: Session, launch: Launch): string => {
  if ((launch.resumeSession !== null || launch.ask !== undefined) && launch.hint !== null) return launch.hint
  const brief = buildBrief({
    goal: session.goal,
    task: session.task,
    roleText: defaultRoleText[session.task.role],
    hostText: `os: ${process.platform} ${process.arch}; node ${process.versions.node}`,
    failures: [launch.hint ?? '', handOverText(session) ?? ''].filter((text) => text !== ''),
    runDir: session.paths.agentDir,
  })
  return brief
}

const lineOf = (session: Session, launch: Launch, can: Capabilities): LaunchLine => {
  const { harness, driver, paths, task } = session
  const prompt = promptOf(session, launch)
  const promptFile = join(paths.root, `prompt-${launch.number}.md`)
  const { files } = session.context.ports
  files.mkdirSync(paths.agentDir, { recursive: true })
  files.writeFileSync(promptFile, prompt)
  const model = task.model ?? harness.model
  return driver.launch({
    can,
    prompt,
    promptFile,
    workspace: workTreeOf(session),
    runDir: paths.agentDir,
    addDirs: launch.corrections.addDirs,
    skipGitCheck: launch.corrections.skipGitCheck,
    commands: task.commands,
    toolRules: launch.corrections.toolRules ?? [],
    extraArgs: harness.args ?? [],
    ...(model === undefined || model === null ? {} : { model }),
    ...(launch.resumeSession === null ? {} : { resumeSession: launch.resumeSession }),
    ...(harness.command === undefined ? {} : { program: harness.command }),
    ...(harness.unrestricted === true ? { unrestricted: true } : {}),
    ...(harness.promptMode === undefined ? {} : { promptMode: harness.promptMode }),
  })
}

const specOf = (session: Session, line: LaunchLine): LaunchSpec => {
  const { context, goal, run } = session
  const left = ((goal.limits.runSeconds ?? Number.MAX_SAFE_INTEGER / 1000) - run.spend.seconds) * 1000
  return {
    marker: run.id,
    argv: line.argv,
    cwd: line.cwd,
    stdinFile: line.stdinFile,
    limitMs: Math.max(1_000, left),
    keepAliveMs: keepAliveMs(context.config().lease.ttlSeconds),
    graceMs,
    lineMaxBytes,
    logMaxBytes,
  }
}

const environmentOf = (session: Session, line: LaunchLine): Record<string, string> =>
  allowedEnvironment(
    session.context.environment,
    [...session.driver.environment, ...passedNames(session.context.config(), session.harness)],
    {
      ...line.env,
      UNSTUCK_RUN_DIR: session.paths.agentDir,
    },
  )

export const replaceLast = (launches: Launch[], last: Launch): Launch[] => [...launches.slice(0, -1), last]

export const firstLaunch = (): Launch => ({
  number: 1,
  corrections: noCorrections,
  resumeSession: null,
  hint: null,
  shim: null,
  gateOpened: false,
  startedAt: null,
  spend: null,
})

/** The launch after `last` with more corrections; what it had before is kept. */
export const correctedLaunch = (
  last: Launch,
  change: {
    addDir?: string
    skipGitCheck?: boolean
    toolRules?: readonly string[]
    resumeSession: string | null
    hint: string
    ask?: string
  },
): Launch => ({
  number: last.number + 1,
  corrections: {
    addDirs: [...new Set([...last.corrections.addDirs, ...(change.addDir === undefined ? [] : [change.addDir])])],
    skipGitCheck: last.corrections.skipGitCheck || (change.skipGitCheck ?? false),
    toolRules: [...new Set([...(last.corrections.toolRules ?? []), ...(change.toolRules ?? [])])],
  },
  resumeSession: change.resumeSession,
  hint: change.hint === '' ? null : change.hint,
  ...(change.ask === undefined ? {} : { ask: change.ask }),
  shim: null,
  gateOpened: false,
  startedAt: null,
  spend: null,
})

/** Which CLI it is that works, and whether what we know of it was measured with another version. */
const tellLaunch = async (
  tx: Queryable,
  { run, driver }: Session,
  { version, measured, exact }: Abilities,
): Promise<void> => {
  const { number, resumeSession } = lastLaunch(run) as Launch
  const { goalId, taskId, id: runId } = run
  await appendEvent(tx, {
    type: 'run.launched',
    ...{ goalId, taskId, runId },
    payload: { launch: number, driver: driver.name, version, measured, exact, resumed: resumeSession !== null },
  })
}

/** Whether the agent of the newest launch may have run. The gate tells, not the store: a crash may lie between the two. */
export const hasBegun = ({ context, paths, run }: Session): boolean => {
  const launch = lastLaunch(run)
  if (launch === undefined) return false
  return launch.gateOpened || context.ports.files.existsSync(join(paths.launch(launch.number), 'gate'))
}

/** Phase `launch`: brings the newest launch of the run to the point where the agent runs, from wherever a crash left it. */
export const startLaunch = async (session: Session, abilities: Abilities): Promise<void> => {
  const { context, paths } = session
  const { files, processes } = context.ports
  if (lastLaunch(session.run) === undefined) await save(session, { launches: [firstLaunch()] })
  const launch = lastLaunch(session.run) as Launch
  context.at('launch-intended')
  const dir = paths.launch(launch.number)
  let found = processes.launchState(dir)
  if (found.state !== 'at-gate' && !files.existsSync(join(dir, 'gate'))) {
    // Nothing ran here: what a crash left is a shim that never got its gate, if anything.
    files.rmSync(dir, { recursive: true, force: true })
    const line = lineOf(session, launch, abilities.capabilities)
    // The refs as they are before the agent runs: behind a gate, so beside the start of the shim is early enough.
    const [shim] = await Promise.all([
      processes.startShim(dir, specOf(session, line), environmentOf(session, line)),
      rememberRefs(session),
    ])
    found = { state: 'at-gate', shim }
  } else if (found.state === 'at-gate') await rememberRefs(session)
  context.at('after-spawn')
  if (found.state === 'at-gate') {
    const started = { ...launch, shim: found.shim.identity, startedAt: context.clock.now().toISOString() }
    await save(session, { launches: replaceLast(session.run.launches, started) })
    context.at('identity-committed')
    processes.openGate(dir)
  }
  context.at('gate-open')
  const opened = { ...(lastLaunch(session.run) as Launch), gateOpened: true }
  await context.db.transaction(async (tx) => {
    await save(session, { phase: 'supervise', launches: replaceLast(session.run.launches, opened) }, tx)
    await tellLaunch(tx, session, abilities)
  })
}
