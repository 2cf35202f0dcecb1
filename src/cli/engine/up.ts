/** The work of `unstuck up` and `unstuck worker`: runs an engine as a child process, and restarts it after a crash or when it is blocked, at most 5 times in 15 minutes. */
import { spawn, type ChildProcess } from 'node:child_process'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parsePublicUrl } from '../../api/answer-link.ts'
import { requireRoom } from '../../api/full-disk.ts'
import { openStateDir } from '../../api/state-dir.ts'
import { AppError, exitCodes } from '../../errors.ts'
import type { LoginUrl } from '../../api/contract.ts'
import { giveUpReserve, isDiskFull } from '../../platform/disk-reserve.ts'
import { hadStore } from '../../store/store-markers.ts'
import { repositoryName } from '../../workspace/remote.ts'
import type { Client } from './client.ts'
import { engineIdentity, findEngine, isShared } from './connect.ts'
import { tellOfLeftBranches } from './goal-branches.ts'
import { makeRoot, homeOf, requireRoot, type Home } from './home.ts'
import { keepLogins } from './kept-login.ts'
import { recordStarter } from './starter.ts'
import { killWhenSilent, silenceLimits, type SilenceLimits } from './watchdog.ts'
import { printLine, type Io } from '../io.ts'
import { refuseRuns } from '../person-here.ts'

const restartLimit = 5
const restartWindowMs = 15 * 60 * 1000
const readyDeadlineMs = 120_000

interface Ending {
  code: number | null
  signal: NodeJS.Signals | null
  /** How long it sent no heartbeat before this process killed it; absent = it ended in another way. */
  silentMs?: number | undefined
}

/** Memory for young objects, in MB. An engine mostly waits, and with the default size it keeps 30 MB of garbage. */
const youngMb = 4

const startChild = (io: Io, cwd: string, args: string[]): ChildProcess => {
  const [program = '', ...first] = io.self
  return spawn(program, [`--max-semi-space-size=${youngMb}`, ...first, 'engine', ...args], {
    cwd,
    env: io.environment,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

const endOf = (child: ChildProcess): Promise<Ending> =>
  new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', () => resolve({ code: exitCodes.unavailable, signal: null }))
  })

/** What an engine is started for: one repository, or all of them. */
export interface Subject {
  /** For messages. */
  name: string
  stateDir: string
  cwd: string
  /** Throws if there is nothing any more to work for. */
  requireHere: () => void
  find: () => Promise<Client | undefined>
  /** Tells what a person has to know of an engine that has just become ready. */
  greet: (client: Client) => Promise<void>
}

type Readiness = { by: 'child'; client: Client } | { by: 'other' } | undefined

/** Waits until an engine answers: the child, or one that another process started meanwhile, as after a crash. */
const waitReady = async ({ find, stateDir }: Subject, child: ChildProcess): Promise<Readiness> => {
  const deadline = performance.now() + readyDeadlineMs
  while (performance.now() < deadline && child.exitCode === null && child.signalCode === null) {
    const client = await find()
    const pid = client === undefined ? undefined : engineIdentity(stateDir)?.pid
    if (client !== undefined && pid === child.pid) return { by: 'child', client }
    if (pid !== undefined) return { by: 'other' }
    await delay(50)
  }
  return undefined
}

const otherRuns = ({ name, stateDir }: Subject): AppError =>
  new AppError(
    'ENGINE_RUNNING',
    isShared(stateDir)
      ? `the engine of all repositories serves ${name}; use it ("unstuck status"), or have it leave this one with "unstuck stop"`
      : `an engine is already running for ${name}; use it ("unstuck status"), or stop it with "unstuck stop"`,
  )

export const showLogin = async (io: Io, client: Client): Promise<void> => {
  try {
    const { url } = await client.post<LoginUrl>('/login-codes')
    printLine(io, `Open the dashboard (the address works once, within ten minutes): ${url}`)
  } catch {
    // The engine has just ended. Its restart is reported, and the next engine prints a new address.
  }
}

/** Exit codes after which a restart is useless, because the same input fails in the same way. */
const permanent = new Set<number>([exitCodes.usage, exitCodes.config, exitCodes.conflict])

export interface UpOptions {
  idleExit?: number
  controlOnly?: boolean
  publicUrl?: string
  allowHiddenCallers?: boolean
}

const argsOf = ({ idleExit, controlOnly, publicUrl, allowHiddenCallers }: UpOptions): string[] => [
  ...(idleExit === undefined ? [] : ['--idle-exit', String(idleExit)]),
  ...(controlOnly === true ? ['--roles', 'control'] : []),
  ...(publicUrl === undefined ? [] : ['--public-url', publicUrl]),
  ...(allowHiddenCallers === true ? ['--allow-hidden-callers'] : []),
]

/** Runs an engine that only executes tasks. It needs a PostgreSQL store: only one engine can use an embedded store. */
export const workerCommand = async (io: Io): Promise<number> => {
  if ((io.environment.UNSTUCK_DATABASE_URL ?? '') === '')
    throw new AppError(
      'CONFIG_INVALID',
      'a worker needs a PostgreSQL store that it shares with other engines; give --database-url or UNSTUCK_DATABASE_URL, or start a full engine with "unstuck up"',
    )
  return superviseEngine(io, {}, ['--roles', 'executor'], silenceLimits)
}

export const upCommand = async (io: Io, options: UpOptions, limits = silenceLimits): Promise<number> => {
  // Checked before anything is started, so that a mistake is reported at once.
  if (options.publicUrl !== undefined) parsePublicUrl(options.publicUrl)
  return superviseEngine(io, options, argsOf(options), limits)
}

interface Supervised {
  subject: Subject
  child: ChildProcess
  limits: SilenceLimits
  /** Aborts when a signal or `stop` ends this process. */
  signal: AbortSignal
}

const reportReady = async (io: Io, { subject, child }: Supervised, client: Client): Promise<void> => {
  const { name, stateDir, greet } = subject
  printLine(io, `The engine for ${name} is ready (pid ${child.pid}). Log: ${join(stateDir, 'engine.log')}`)
  await greet(client)
}

/** Runs the engine process once. A signal to this process shuts the engine down. */
const superviseOnce = async (io: Io, supervised: Supervised): Promise<Ending> => {
  const { subject, child, limits, signal } = supervised
  const stop = (): void => void child.kill('SIGTERM')
  signal.addEventListener('abort', stop, { once: true })
  const ended = endOf(child)
  const silent = killWhenSilent(child, limits)
  const ready = await waitReady(subject, child)
  if (ready?.by === 'child') await reportReady(io, supervised, ready.client)
  // It waits for the store, and would take over from the other one as soon as a person stops that.
  if (ready?.by === 'other') stop()
  const ending = await ended
  signal.removeEventListener('abort', stop)
  if (ready?.by === 'other') throw otherRuns(subject)
  return { ...ending, silentMs: silent() }
}

const howEnded = ({ code, signal, silentMs }: Ending): string => {
  const how = signal === null ? `with status ${code}` : `by ${signal}`
  return silentMs === undefined ? how : `${how}, because it was blocked for ${Math.round(silentMs / 1000)} seconds`
}

/** Counts the crashes within the window and reports this one; false if there were too many. */
const mayRestart = (io: Io, { stateDir }: Subject, crashes: number[], ending: Ending): boolean => {
  const now = performance.now()
  crashes.push(now)
  while ((crashes[0] ?? now) < now - restartWindowMs) crashes.shift()
  const how = howEnded(ending)
  const restarts = crashes.length <= restartLimit
  io.error(
    restarts
      ? `unstuck: the engine ended ${how}; restarting it (${crashes.length} of ${restartLimit})\n`
      : `unstuck: the engine ended ${crashes.length} times in 15 minutes, last ${how}, and is not restarted. See ${join(stateDir, 'engine.log')}, then run "unstuck up" again.\n`,
  )
  return restarts
}

const roomEveryMs = 2_000

/** Where the engine ended on a full disk, waits for room instead of using up the restarts. False = the disk is not the reason. */
const waitForRoom = async (io: Io, { subject: { stateDir }, signal }: Restarted, ending: Ending): Promise<boolean> => {
  const home = dirname(stateDir)
  if (!isDiskFull(home)) return false
  io.error(
    `unstuck: the engine ended ${howEnded(ending)}: the disk of ${home} is full; it starts again when there is room\n`,
  )
  while (!signal.aborted && isDiskFull(home) && !giveUpReserve(home))
    await delay(roomEveryMs, undefined, { signal }).catch(() => undefined) // aborted: the wait ends
  return true
}

type Restarted = Omit<Supervised, 'child'>

/** Returns the exit status once the engine ended for good. */
const superviseRestarts = async (io: Io, args: string[], restarted: Restarted): Promise<number> => {
  const { subject, signal } = restarted
  const crashes: number[] = []
  const logins = keepLogins()
  while (!signal.aborted) {
    const child = startChild(io, subject.cwd, [...args, ...logins.args()])
    logins.follow(child)
    const ending = await superviseOnce(io, { ...restarted, child })
    if (signal.aborted) return exitCodes.ok
    subject.requireHere()
    if (ending.code === 0) return exitCodes.ok
    if (ending.code !== null && permanent.has(ending.code)) return ending.code
    if (await waitForRoom(io, restarted, ending)) continue
    if (!mayRestart(io, subject, crashes, ending)) return exitCodes.failed
  }
  return exitCodes.ok
}

const repositorySubject = (io: Io, home: Home, options: UpOptions): Subject => {
  // The state folder had no store.
  let isFirst = !hadStore(home.stateDir)
  return {
    name: repositoryName(home.repository),
    stateDir: home.stateDir,
    cwd: home.repository.root,
    requireHere: () => requireRoot(home),
    find: () => findEngine(home),
    greet: async (client) => {
      if (isFirst) await tellOfLeftBranches(io, client, home)
      isFirst = false
      // An engine that another command started writes to a log file, which must not contain a login.
      if (options.idleExit === undefined) await showLogin(io, client)
    },
  }
}

const superviseEngine = async (io: Io, options: UpOptions, args: string[], limits: SilenceLimits): Promise<number> => {
  const home = await homeOf(io)
  return keepRunning(io, repositorySubject(io, home, options), { args, limits, prepare: () => makeRoot(home) })
}

export interface Supervision {
  args: string[]
  limits: SilenceLimits
  /** What is done once it is known that no engine is running. */
  prepare: () => void
}

export const keepRunning = async (
  io: Io,
  subject: Subject,
  { args, limits, prepare }: Supervision,
): Promise<number> => {
  const { stateDir, find } = subject
  await refuseRuns(io, 'unstuck up', find)
  if ((await find()) !== undefined) throw otherRuns(subject)
  await requireRoom(stateDir)
  openStateDir(stateDir)
  prepare()
  const starter = recordStarter(stateDir, io.signal)
  try {
    return await superviseRestarts(io, args, { subject, limits, signal: starter.signal })
  } finally {
    starter.end()
  }
}
