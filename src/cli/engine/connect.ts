/** Finds the engine of a repository by its engine.json, and starts an engine on request. Never opens the store. */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readRegularTextSync } from '../../platform/regular-file.ts'
import type { Health } from '../../api/contract.ts'
import { requireRoom } from '../../api/full-disk.ts'
import { openStateDir, writingIn } from '../../api/state-dir.ts'
import { recordRepository } from '../../api/known-repository.ts'
import { sharedDirOf, type SharedRepository } from '../../api/shared-place.ts'
import { AppError, exitCodes, messageOf } from '../../errors.ts'
import { isDamage } from '../../platform/damaged-file.ts'
import { livenessOf, type ProcessIdentity } from '../../platform/process.ts'
import { hadStore } from '../../store/store-markers.ts'
import { configuredDatabase, storeName } from '../../store/postgres-location.ts'
import { repositoryName } from '../../workspace/remote.ts'
import type { Io } from '../io.ts'
import { refuseRuns } from '../person-here.ts'
import { createClient, errorCodeOf, type Client } from './client.ts'
import { sendTo } from './send-over-socket.ts'
import { tellOfLeftBranches } from './goal-branches.ts'
import { makeRoot, homeOf, requireRoot, type Home } from './home.ts'
import { isStarting } from './starter.ts'

/** Shows what the command is waiting for. */
export type Say = (text: string) => void

interface Address {
  url: string
  /** Absent = there is none. */
  socket?: string
  identity: ProcessIdentity
  /** Its process serves other repositories as well. */
  shared?: boolean
}

/** The first start runs initdb, which is slow on a loaded machine. */
const startDeadlineMs = 120_000
const idleExitSeconds = 900

/** An engine that runs writes its address and its token anew within this time where they are damaged. */
const repairMs = 5_000

/** Undefined = no engine has written it, or the one that did has ended. */
const readAddress = (stateDir: string): Address | undefined | 'damaged' => {
  const path = addressOf(stateDir)
  if (!existsSync(path)) return undefined
  try {
    const address = JSON.parse(readRegularTextSync(path)) as Address
    return livenessOf(address.identity) === 'dead' ? undefined : address
  } catch (error) {
    return isDamage(error) || error instanceof TypeError ? 'damaged' : undefined
  }
}

const addressAt = async (stateDir: string): Promise<Address | undefined> => {
  const deadline = performance.now() + repairMs
  let found = readAddress(stateDir)
  for (; found === 'damaged' && performance.now() < deadline; found = readAddress(stateDir)) await delay(100)
  return found === 'damaged' ? undefined : found
}

const tokenOf = (stateDir: string): string => {
  try {
    return readRegularTextSync(join(stateDir, 'token')).trim()
  } catch (error) {
    throw new AppError(
      'UNAUTHORISED',
      `cannot read the token of the engine (${messageOf(error)}); run this command as the user who started the engine`,
    )
  }
}

/** A process that runs an engine. */
export interface EngineProcess {
  identity: ProcessIdentity
  /** Whether it has left the repository, which a process that serves others outlives; absent = it ends with its engine. */
  hasLeft?: () => boolean
}

/** Waits until the engine has ended; false if it still runs after `deadlineMs`. */
export const awaitEngineEnd = async (engine: EngineProcess | undefined, deadlineMs: number): Promise<boolean> => {
  const deadline = performance.now() + deadlineMs
  while (engine !== undefined && livenessOf(engine.identity) === 'alive' && engine.hasLeft?.() !== true) {
    if (performance.now() > deadline) return false
    await delay(50)
  }
  return true
}

export const engineProcess = (stateDir: string): EngineProcess | undefined => {
  const address = readAddress(stateDir)
  if (address === 'damaged' || address === undefined) return undefined
  const { identity, shared = false } = address
  return shared ? { identity, hasLeft: () => !hasAddress(stateDir) } : { identity }
}

export const engineIdentity = (stateDir: string): ProcessIdentity | undefined => engineProcess(stateDir)?.identity

/** Whether the engine of all repositories serves this one. */
export const isShared = (stateDir: string): boolean => engineProcess(stateDir)?.hasLeft !== undefined

const addressOf = (stateDir: string): string => join(stateDir, 'engine.json')

export const hasAddress = (stateDir: string): boolean => existsSync(addressOf(stateDir))

/** A crashed engine leaves its address. */
export const dropDeadAddress = (stateDir: string): void => {
  if (readAddress(stateDir) === undefined) rmSync(addressOf(stateDir), { force: true })
}

interface EngineHere {
  client: Client
  root: string
}

/** Throws UNAUTHORISED if the token is not that of the engine. */
const reach = async (stateDir: string): Promise<EngineHere | undefined> => {
  const address = await addressAt(stateDir)
  if (address === undefined) return undefined
  const client = createClient(address.url, tokenOf(stateDir), sendTo(address.socket))
  try {
    return { client, root: (await client.get<Health>('/health')).root }
  } catch (error) {
    if (error instanceof AppError && error.code === 'ENGINE_UNAVAILABLE') return undefined
    throw error
  }
}

/** Whether the engine of this state folder answers within that time; true where none runs. */
export const isResponding = async (stateDir: string, deadlineMs: number): Promise<boolean> => {
  const address = readAddress(stateDir)
  if (address === undefined || address === 'damaged') return true
  const signal = AbortSignal.timeout(deadlineMs)
  // What it answers is read by the command itself: here a refusal counts as an answer.
  await sendTo(address.socket)(`${address.url}/health`, { signal }).catch(() => undefined)
  return !signal.aborted
}

/** The running engine of a state folder with the repository that it serves, or undefined. */
export const engineAt = async (stateDir: string): Promise<EngineHere | undefined> => {
  const deadline = performance.now() + repairMs
  for (;;) {
    try {
      return await reach(stateDir)
    } catch (error) {
      const isDamaged = error instanceof AppError && error.code === 'UNAUTHORISED'
      if (!isDamaged || performance.now() > deadline) throw error
      await delay(100)
    }
  }
}

/** The running engine of this repository, or undefined. */
export const findEngine = async (home: Home): Promise<Client | undefined> => {
  const found = await engineAt(home.stateDir)
  // The state folder belongs to one repository; of a bare one, the engine may have been started in another linked worktree.
  const isHere = home.repository.commonDir !== null || found?.root === home.repository.root
  // One that was started before the repository was moved ends soon, and can do nothing until then.
  const isLeft = found !== undefined && found.root !== home.repository.root && !existsSync(found.root)
  return isHere && !isLeft ? found?.client : undefined
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** What the log says since then; an earlier start may have ended for another reason. */
const lastLines = (path: string, since: number): string =>
  existsSync(path)
    ? Buffer.from(readRegularTextSync(path))
        .subarray(since)
        .toString('utf8')
        .trimEnd()
        .split('\n')
        .slice(-3)
        .join('\n')
        .replace(/^unstuck: /gm, '')
    : ''

/** More often than another engine of this repository restarts after a crash. */
const mostConflicts = 5

/** With the status of the engine itself: a wrong setting is one for this command as well. */
const startFailed = (exitCode: number | null, text: string): AppError => {
  const message = text === '' ? `it ended with status ${exitCode ?? 'none'}` : text
  return exitCode === exitCodes.config || exitCode === exitCodes.conflict
    ? new AppError(exitCode === exitCodes.config ? 'CONFIG_INVALID' : 'ENGINE_RUNNING', message)
    : new AppError('ENGINE_UNAVAILABLE', `the engine did not start: ${message}`)
}

/** Starts `unstuck up` detached, so that it keeps running when this command or its terminal ends. */
const spawnUp = (io: Io, home: Home, logPath: string): ChildProcess => {
  // Append: the parent of another engine of this repository may be writing to the same log.
  const log = writingIn(home.stateDir, () => openSync(logPath, 'a', 0o600))
  const [program = '', ...first] = io.self
  const child = spawn(program, [...first, 'up', '--idle-exit', String(idleExitSeconds)], {
    cwd: home.repository.root,
    env: io.environment,
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  child.once('error', () => undefined) // its pid stays undefined, which ends the wait for the engine
  child.unref()
  return child
}

/** The engine of all repositories, if it is running, or is being started or restarted. */
export const findShared = async (io: Io): Promise<Client | undefined> => {
  const dir = sharedDirOf(io.environment)
  const deadline = performance.now() + startDeadlineMs
  let found = await engineAt(dir)
  for (; found === undefined && isStarting(dir) && performance.now() < deadline; found = await engineAt(dir))
    await delay(100)
  return found?.client
}

/** Has the engine of all repositories serve this one. Undefined = there is none, or it leaves this one to an engine of its own. */
const joinShared = async (io: Io, home: Home): Promise<Client | undefined> => {
  // The address may hold a password, and the database is that of this command: the environment of another process has neither.
  if (home.repository.url !== undefined || configuredDatabase(io.environment, home.repository.id) !== undefined)
    return undefined
  const shared = await findShared(io)
  if (shared === undefined) return undefined
  recordRepository(home.stateDir, home.repository)
  const { state, problem } = await shared.post<SharedRepository>('/repositories', { id: home.repository.id })
  if (state === 'broken' && problem !== null) throw new AppError(errorCodeOf(problem.code), problem.message)
  return state === 'served' ? findEngine(home) : undefined
}

const startEngine = async (io: Io, home: Home, say: Say): Promise<Client> => {
  requireRoot(home)
  say('starting the engine')
  await requireRoom(home.stateDir)
  openStateDir(home.stateDir)
  makeRoot(home)
  const joined = await joinShared(io, home)
  if (joined !== undefined) return joined
  const logPath = join(home.stateDir, 'up.log')
  const since = sizeOf(logPath)
  let child = spawnUp(io, home, logPath)
  let conflicts = 0
  const deadline = performance.now() + startDeadlineMs
  while (performance.now() < deadline) {
    const client = await findEngine(home)
    if (client !== undefined) return client
    const ended = child.exitCode !== null || child.signalCode !== null || child.pid === undefined
    // After a crash, the parent of the crashed engine restarts it too: ours finds the store in use, waits for it a few seconds and exits.
    // Then the other engine responds, or it has died since.
    if (ended && child.exitCode === exitCodes.conflict) conflicts += 1
    if (ended && (child.exitCode !== exitCodes.conflict || conflicts > mostConflicts))
      throw startFailed(child.exitCode, lastLines(logPath, since))
    if (ended) child = spawnUp(io, home, logPath)
    await delay(50)
  }
  throw new AppError(
    'ENGINE_UNAVAILABLE',
    `the engine did not become ready within ${startDeadlineMs / 1000} s; see ${logPath}, then try again`,
  )
}

/** Throws if a database URL is given and the running engine uses another store: the work must not go to the wrong store. */
export const checkStore = async (io: Io, home: Home, client: Client): Promise<void> => {
  const wanted = configuredDatabase(io.environment, home.repository.id)
  if (wanted === undefined) return
  const { store } = await client.get<Health>('/health')
  if (store === storeName(wanted)) return
  throw new AppError(
    'ENGINE_RUNNING',
    `the running engine of ${repositoryName(home.repository)} uses another store (${store}); leave out the database URL, or stop the engine with "unstuck stop"`,
  )
}

/** Connects to the engine of this repository. Without a running engine, starts one if `start` is set, or throws. */
export const connect = async (
  io: Io,
  /** `rebuilds`: the command takes branches of an earlier store over, so it need not be told of them. */
  options: { start: boolean; say?: Say; rebuilds?: boolean },
): Promise<{ client: Client; home: Home }> => {
  const home = await homeOf(io)
  const found = await findEngine(home)
  if (found !== undefined) {
    await checkStore(io, home, found)
    return { client: found, home }
  }
  // An engine below an agent could not tell that agent from a person.
  if (options.start) await refuseRuns(io, 'starting an engine')
  if (options.start) {
    const isFirst = !hadStore(home.stateDir)
    const client = await startEngine(io, home, options.say ?? (() => undefined))
    if (isFirst && options.rebuilds !== true) await tellOfLeftBranches(io, client, home)
    return { client, home }
  }
  throw new AppError(
    'ENGINE_UNAVAILABLE',
    `no engine is running for ${repositoryName(home.repository)}; start it with "unstuck up" or "unstuck run"`,
  )
}
