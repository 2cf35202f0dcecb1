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
import { engineIdentity, findEngine } from './connect.ts'
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

const startChild = (io: Io, root: string, args: string[]): ChildProcess => {
  const [program = '', ...first] = io.self
  return spawn(program, [`--max-semi-space-size=${youngMb}`, ...first, 'engine', ...args], {
    cwd: root,
    env: io.environment,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

const endOf = (child: ChildProcess): Promise<Ending> =>
  new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', () => resolve({ code: exitCodes.unavailable, signal: null }))
  })

type Readiness = { by: 'child'; client: Client } | { by: 'other' } | undefined

/** Waits until an engine answers: the child, or one that another process started meanwhile, as after a crash. */
const waitReady = async (io: Io, child: ChildProcess): Promise<Readiness> => {
  const home = await homeOf(io)
  const deadline = performance.now() + readyDeadlineMs
  while (performance.now() < deadline && child.exitCode === null && child.signalCode === null) {
    const client = await findEngine(home)
    const pid = client === undefined ? undefined : engineIdentity(home.stateDir)?.pid
    if (client !== undefined && pid === child.pid) return { by: 'child', client }
    if (pid !== undefined) return { by: 'other' }
    await delay(50)
  }
  return undefined
}

const otherRuns = (home: Home): AppError =>
  new AppError(
    'ENGINE_RUNNING',
    `an engine is already running for ${repositoryName(home.repository)}; use it ("unstuck status"), or stop it with "unstuck stop"`,
  )

const showLogin = async (io: Io, client: Client): Promise<void> => {
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

const reportReady = async (io: Io, supervised: Supervised, client: Client): Promise<void> => {
  const { home, options, child, isFirst } = supervised
  printLine(
    io,
    `The engine for ${repositoryName(home.repository)} is ready (pid ${child.pid}). Log: ${join(home.stateDir, 'engine.log')}`,
  )
  if (isFirst) await tellOfLeftBranches(io, client, home)
  // An engine that another command started writes to a log file, which must not contain a login.
  if (options.idleExit === undefined) await showLogin(io, client)
}

interface Supervised {
  home: Home
  options: UpOptions
  child: ChildProcess
  limits: SilenceLimits
  /** Aborts when a signal or `stop` ends this process. */
  signal: AbortSignal
  /** The state folder had no store. */
  isFirst: boolean
}

/** Runs the engine process once. A signal to this process shuts the engine down. */
const superviseOnce = async (io: Io, supervised: Supervised): Promise<Ending> => {
  const { child, limits, signal } = supervised
  const stop = (): void => void child.kill('SIGTERM')
  signal.addEventListener('abort', stop, { once: true })
  const ended = endOf(child)
  const silent = killWhenSilent(child, limits)
  const ready = await waitReady(io, child)
  if (ready?.by === 'child') await reportReady(io, supervised, ready.client)
  // It waits for the store, and would take over from the other one as soon as a person stops that.
  if (ready?.by === 'other') stop()
  const ending = await ended
  signal.removeEventListener('abort', stop)
  if (ready?.by === 'other') throw otherRuns(supervised.home)
  return { ...ending, silentMs: silent() }
}

const howEnded = ({ code, signal, silentMs }: Ending): string => {
  const how = signal === null ? `with status ${code}` : `by ${signal}`
  return silentMs === undefined ? how : `${how}, because it was blocked for ${Math.round(silentMs / 1000)} seconds`
}

/** Counts the crashes within the window and reports this one; false if there were too many. */
const mayRestart = (io: Io, { stateDir }: Home, crashes: number[], ending: Ending): boolean => {
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
const waitForRoom = async (io: Io, { home: { stateDir }, signal }: Restarted, ending: Ending): Promise<boolean> => {
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
  const { home, signal } = restarted
  const crashes: number[] = []
  const logins = keepLogins()
  while (!signal.aborted) {
    const child = startChild(io, home.repository.root, [...args, ...logins.args()])
    logins.follow(child)
    const ending = await superviseOnce(io, { ...restarted, child })
    if (signal.aborted) return exitCodes.ok
    requireRoot(home)
    if (ending.code === 0) return exitCodes.ok
    if (ending.code !== null && permanent.has(ending.code)) return ending.code
    if (await waitForRoom(io, restarted, ending)) continue
    if (!mayRestart(io, home, crashes, ending)) return exitCodes.failed
  }
  return exitCodes.ok
}

const superviseEngine = async (io: Io, options: UpOptions, args: string[], limits: SilenceLimits): Promise<number> => {
  const home = await homeOf(io)
  await refuseRuns(io, 'unstuck up', async () => findEngine(home))
  if ((await findEngine(home)) !== undefined) throw otherRuns(home)
  await requireRoom(home.stateDir)
  openStateDir(home.stateDir)
  const isFirst = !hadStore(home.stateDir)
  makeRoot(home)
  const starter = recordStarter(home.stateDir, io.signal)
  try {
    return await superviseRestarts(io, args, { home, options, limits, isFirst, signal: starter.signal })
  } finally {
    starter.end()
  }
}
