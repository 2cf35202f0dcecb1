/** The CLI's way to the engine: finds the one of this repository by engine.json and starts it where asked. It never opens the store. */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Health } from '../../api/contract.ts'
import { openStateDir } from '../../api/state-dir.ts'
import { AppError, exitCodes, messageOf } from '../../errors.ts'
import { livenessOf, type ProcessIdentity } from '../../platform/process.ts'
import { ownerOf } from '../../store/lock.ts'
import { databaseOf, storeName } from '../../store/postgres-place.ts'
import { repositoryName } from '../../workspace/remote.ts'
import type { Io } from '../io.ts'
import { createClient, type Client } from './client.ts'
import { makeRoot, placeOf, requireStore, type Place } from './place.ts'

/** Shows what a command waits for. */
type Say = (text: string) => void

interface Address {
  url: string
  identity: ProcessIdentity
}

/** A first start runs initdb; a loaded machine needs its time for it. */
const startDeadlineMs = 120_000
const idleExitSeconds = 900

const readAddress = (stateDir: string): Address | undefined => {
  try {
    const address = JSON.parse(readFileSync(join(stateDir, 'engine.json'), 'utf8')) as Address
    return livenessOf(address.identity) === 'dead' ? undefined : address
  } catch {
    return undefined // no engine has written its address, or it is just stopping
  }
}

const tokenOf = (stateDir: string): string => {
  try {
    return readFileSync(join(stateDir, 'token'), 'utf8').trim()
  } catch (error) {
    throw new AppError(
      'UNAUTHORISED',
      `the token of the engine cannot be read (${messageOf(error)}); run as the user who started it`,
    )
  }
}

/** Resolves to true when the engine whose address is (or was) written has ended. */
export const awaitEngineEnd = async (identity: ProcessIdentity | undefined, deadlineMs = 60_000): Promise<boolean> => {
  const deadline = performance.now() + deadlineMs
  while (identity !== undefined && livenessOf(identity) === 'alive') {
    if (performance.now() > deadline) return false
    await delay(50)
  }
  return true
}

export const engineIdentity = (place: Place): ProcessIdentity | undefined => readAddress(place.stateDir)?.identity

/** The running engine of this repository, or undefined. */
export const findEngine = async (place: Place): Promise<Client | undefined> => {
  const address = readAddress(place.stateDir)
  if (address === undefined) return undefined
  const client = createClient(address.url, tokenOf(place.stateDir))
  try {
    const health = await client.get<Health>('/health')
    return health.root === place.repository.root ? client : undefined
  } catch (error) {
    if (error instanceof AppError && error.code === 'ENGINE_UNAVAILABLE') return undefined
    throw error
  }
}

const lastLines = (path: string): string =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .trimEnd()
        .split('\n')
        .slice(-3)
        .join('\n')
        .replace(/^unstuck: /gm, '')
    : ''

const isHeld = (place: Place): boolean => ownerOf(join(place.stateDir, 'store.lock'))?.liveness === 'alive'

/** Starts `unstuck up` on its own, so that it lives on when this command or its terminal ends. */
const spawnUp = (io: Io, place: Place, logPath: string): ChildProcess => {
  // Appended to: another parent of this repository's engine may be writing there.
  const log = openSync(logPath, 'a', 0o600)
  const [program = '', ...first] = io.self
  const child = spawn(program, [...first, 'up', '--idle-exit', String(idleExitSeconds)], {
    cwd: place.repository.root,
    env: io.environment,
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  child.once('error', () => undefined) // its exit code stays null; the wait for the engine ends by the log or the deadline
  child.unref()
  return child
}

const startEngine = async (io: Io, place: Place, say: Say): Promise<Client> => {
  say('starting the engine')
  openStateDir(place.stateDir)
  makeRoot(place)
  const logPath = join(place.stateDir, 'up.log')
  let child = spawnUp(io, place, logPath)
  const deadline = performance.now() + startDeadlineMs
  while (performance.now() < deadline) {
    const client = await findEngine(place)
    if (client !== undefined) return client
    if (isHeld(place)) say('opening the store')
    const ended = child.exitCode !== null || child.signalCode !== null || child.pid === undefined
    // After a crash its own parent restarts the engine as well: the one of the two that holds the store will answer.
    if (ended && !isHeld(place)) {
      if (child.exitCode !== exitCodes.conflict)
        throw new AppError('ENGINE_UNAVAILABLE', `the engine did not start: ${lastLines(logPath)}`)
      // Ours gave way to the other one, and that one died since.
      child = spawnUp(io, place, logPath)
    }
    await delay(50)
  }
  throw new AppError(
    'ENGINE_UNAVAILABLE',
    `the engine did not get ready within ${startDeadlineMs / 1000} s; see ${logPath}`,
  )
}

/** A URL that is given is meant: work must not go to another store because an engine happens to run on it. */
export const checkStore = async (io: Io, place: Place, client: Client): Promise<void> => {
  const wanted = databaseOf(io.environment, place.repository.id)
  if (wanted === undefined) return
  const { store } = await client.get<Health>('/health')
  if (store === storeName(wanted)) return
  throw new AppError(
    'ENGINE_RUNNING',
    `the engine of ${repositoryName(place.repository)} runs on another store (${store}); leave the database URL out, or stop it first with "unstuck stop"`,
  )
}

/** The engine of this repository; started when `start` is set and none runs. */
export const connect = async (
  io: Io,
  options: { start: boolean; say?: Say },
): Promise<{ client: Client; place: Place }> => {
  const place = await placeOf(io)
  const found = await findEngine(place)
  if (found !== undefined) {
    await checkStore(io, place, found)
    return { client: found, place }
  }
  if (options.start) return { client: await startEngine(io, place, options.say ?? (() => undefined)), place }
  throw new AppError(
    'ENGINE_UNAVAILABLE',
    `no engine runs for ${repositoryName(place.repository)}; start it with "unstuck up" or "unstuck run"`,
  )
}

/**
 * For commands that change what was done here: an engine is started for them. One for a folder in which nothing was ever
 * run could only say so. Commands that only read start none: see reading.ts.
 */
export const connectKnown = async (io: Io, say?: Say): Promise<Client> => {
  requireStore(await placeOf(io))
  return (await connect(io, { start: true, ...(say === undefined ? {} : { say }) })).client
}
