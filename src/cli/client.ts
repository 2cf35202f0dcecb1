/**
 * The CLI's way to the engine: finds the one of this repository by engine.json, starts it where asked, and speaks HTTP to it.
 * It never opens the store.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError, errorTable, exitCodes, messageOf, type ErrorCode } from '../errors.ts'
import { livenessOf, type ProcessIdentity } from '../platform.ts'
import { stateDirOf } from '../api/state-dir.ts'
import type { Health, StoredEvent } from '../api/contract.ts'
import { readEventStream } from './event-stream.ts'
import type { Repository } from '../workspace/contract.ts'
import { ownerOf } from '../store/lock.ts'
import { databaseOf, storeName } from '../store/postgres-place.ts'
import { remoteRepository, repositoryName } from '../workspace/remote.ts'
import { remoteOf } from '../workspace/remote-url.ts'
import { openRepository } from '../workspace/repository.ts'
import type { Io } from './io.ts'

export interface Client {
  get<T>(path: string): Promise<T>
  /** Every row of a list, page after page. */
  all<T>(path: string): Promise<T[]>
  /** The events after a number, as they come, until either side ends the stream. */
  events(path: string, after: number, signal: AbortSignal): AsyncGenerator<StoredEvent[], void, undefined>
  post<T>(path: string, body?: unknown): Promise<T>
}

export interface Place {
  repository: Repository
  stateDir: string
}

/** Whether anything was ever run here: an embedded store that is complete, or the mark of one in PostgreSQL. */
export const hasStore = (stateDir: string): boolean =>
  ['store.complete', 'store.postgres'].some((name) => existsSync(join(stateDir, name)))

interface Address {
  url: string
  identity: ProcessIdentity
}

/** A first start runs initdb; a loaded machine needs its time for it. */
const startDeadlineMs = 120_000
const idleExitSeconds = 900

export const placeOf = async (io: Io): Promise<Place> => {
  const address = remoteOf(io.environment, io.cwd)
  if (address !== undefined) {
    const stateDir = stateDirOf(io.environment, address.id)
    return { repository: remoteRepository(address, stateDir), stateDir }
  }
  const repository = await openRepository(io.cwd)
  return { repository, stateDir: stateDirOf(io.environment, repository.id) }
}

/** The folder in which the engine is started; that of a repository by URL is ours to make. */
export const makeRoot = ({ repository }: Place): void => {
  if (repository.url !== undefined) mkdirSync(repository.root, { recursive: true, mode: 0o700 })
}

const readAddress = (stateDir: string): Address | undefined => {
  try {
    const address = JSON.parse(readFileSync(join(stateDir, 'engine.json'), 'utf8')) as Address
    return livenessOf(address.identity) === 'dead' ? undefined : address
  } catch {
    return undefined // no engine has written its address, or it is just stopping
  }
}

const isErrorBody = (value: unknown): value is { error: { code: string; message: string } } =>
  typeof value === 'object' && value !== null && 'error' in value

const toError = (status: number, value: unknown): AppError => {
  if (!isErrorBody(value)) return new AppError('ENGINE_UNAVAILABLE', `the engine answered with status ${status}`)
  const { code, message } = value.error
  return new AppError(code in errorTable ? (code as ErrorCode) : 'ENGINE_UNAVAILABLE', message)
}

type Call = (path: string, init: RequestInit) => Promise<Response>

const callerOf =
  (url: string, token: string): Call =>
  async (path, init) => {
    let response: Response
    try {
      response = await fetch(`${url}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string> | undefined) },
      })
    } catch (error) {
      throw new AppError(
        'ENGINE_UNAVAILABLE',
        `the engine at ${url} does not answer (${messageOf(error)}); try again, or start it with "unstuck up"`,
      )
    }
    if (response.ok) return response
    const value: unknown = await response.json().catch(() => undefined) // an answer that is no JSON is reported by its status
    throw toError(response.status, value)
  }

const nextPage = (response: Response): string | undefined =>
  /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]

const streamOf = async function* (
  call: Call,
  path: string,
  { after, signal }: { after: number; signal: AbortSignal },
): AsyncGenerator<StoredEvent[], void, undefined> {
  const headers = { accept: 'text/event-stream', 'last-event-id': String(after) }
  const left = new AbortController()
  const { body } = await call(path, { headers, signal: AbortSignal.any([signal, left.signal]) })
  if (body === null) return
  const batches = readEventStream(body)
  try {
    for (;;) {
      // A connection that breaks off is the end of this stream, like one that was ended in order.
      const next = await batches.next().catch(() => undefined)
      if (next === undefined || next.done === true) return
      yield next.value
    }
  } finally {
    // Whoever has seen enough leaves the connection too; an open one would keep the process alive.
    left.abort()
  }
}

const createClient = (url: string, token: string): Client => {
  const call = callerOf(url, token)
  // An answer that is cut off has no value: the engine ended while it was being sent.
  const value = async <T>(response: Response): Promise<T> =>
    (await response.json().catch((error: unknown) => {
      throw new AppError(
        'ENGINE_UNAVAILABLE',
        `the engine at ${url} broke off its answer (${messageOf(error)}); try again`,
      )
    })) as T
  return {
    get: async (path) => value(await call(path, {})),
    all: async <T>(path: string) => {
      const found: T[] = []
      for (let next: string | undefined = path; next !== undefined;) {
        const response = await call(next, {})
        found.push(...(await value<T[]>(response)))
        next = nextPage(response)
      }
      return found
    },
    events: (path, after, signal) => streamOf(call, path, { after, signal }),
    post: async (path, body = {}) =>
      value(
        await call(path, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      ),
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

const startEngine = async (io: Io, place: Place): Promise<Client> => {
  mkdirSync(place.stateDir, { recursive: true, mode: 0o700 })
  makeRoot(place)
  const logPath = join(place.stateDir, 'up.log')
  let child = spawnUp(io, place, logPath)
  const deadline = performance.now() + startDeadlineMs
  while (performance.now() < deadline) {
    const client = await findEngine(place)
    if (client !== undefined) return client
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
const checkStore = async (io: Io, place: Place, client: Client): Promise<void> => {
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
export const connect = async (io: Io, options: { start: boolean }): Promise<{ client: Client; place: Place }> => {
  const place = await placeOf(io)
  const found = await findEngine(place)
  if (found !== undefined) {
    await checkStore(io, place, found)
    return { client: found, place }
  }
  if (options.start) return { client: await startEngine(io, place), place }
  throw new AppError(
    'ENGINE_UNAVAILABLE',
    `no engine runs for ${repositoryName(place.repository)}; start it with "unstuck up" or "unstuck run"`,
  )
}

/**
 * For commands about what was done here. An engine that went to rest is started again, so that a look in the morning works
 * like one in the evening; one for a folder in which nothing was ever run could only say so.
 */
export const connectKnown = async (io: Io): Promise<Client> => {
  const { stateDir, repository } = await placeOf(io)
  if (!hasStore(stateDir)) {
    throw new AppError(
      'NOT_FOUND',
      `nothing was ever run for ${repositoryName(repository)}; start with: unstuck run "<what you want done>"`,
    )
  }
  return (await connect(io, { start: true })).client
}
