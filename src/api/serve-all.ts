/**
 * The shared engine: one process, one port and one login for several repositories. Each has its own context, store schema, loop and app, as with
 * an engine of its own; they share what belongs to the process. A repository that cannot be opened is said to be broken and is tried again, and
 * one that crashes the process is set aside, so that neither disturbs the others.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError, messageOf } from '../errors.ts'
import type { Context } from '../runtime/core/context.ts'
import type { Engine } from '../runtime/engine/engine.ts'
import { systemClock } from '../runtime/core/system-clock.ts'
import { createClaimTurns } from '../runtime/engine/claim-turns.ts'
import { createApp } from './app.ts'
import { followDiagnostics, openRooms } from './engine-log.ts'
import { isServedByAnother } from './watch-state-files.ts'
import { listStateDirs } from './known-repository.ts'
import { connectionLimit } from './limits.ts'
import { listedAt, placeName, checkedPlace, problemOf, type Listed } from './listed-repository.ts'
import { addressText, createApiListener, listenAsBefore, readToken, type Api, type ApiParts } from './listen.ts'
import { createLogins } from './logins.ts'
import { openPersistedLogins } from './persisted-logins.ts'
import { createPersonOnly, hasLiveRuns } from './person-only.ts'
import { serve, type Served, type ServeOptions } from './serve.ts'
import { createControl } from './shared-control.ts'
import { openSharedMemory, sharedDirOf, type SharedRepository, type SharedState } from './shared-place.ts'
import { createRouter, hostNameOf } from './shared-router.ts'
import { countsOf, type Sibling } from './siblings.ts'
import { openStateDir, replaceStateFile } from './state-dir.ts'
import { defined } from '../domain/defined.ts'

/** What a repository that could not be opened looks like from outside, so that a change of it is seen without opening it. */
const stampOf = (path: string): string => {
  try {
    const { ino, mtimeMs, ctimeMs } = statSync(path)
    return `${ino} ${mtimeMs} ${ctimeMs}`
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? ''
  }
}

const settingsStamp = ({ stateDir, record }: Listed): string => {
  const root = record?.root ?? ''
  const paths = ['', '.git', '.unstuck', join('.unstuck', 'config.json')].map((name) => join(root, name))
  return [root, ...[stateDir, ...paths].map(stampOf)].join('\n')
}

export interface ServeAllOptions extends Pick<ServeOptions, 'environment' | 'version' | 'allowHiddenCallers' | 'at'> {
  /** Called with credentials that a person gives to a repository while it is served; absent = they end with this process. */
  keepLogin?: (id: string, variables: Readonly<Record<string, string>>) => void
  /** Credentials that were given to a repository before this process was restarted. */
  keptLogin?: (id: string) => Readonly<Record<string, string>>
}

/** One repository, from the moment that this process knows of it. */
interface Entry {
  listed: Listed
  state: SharedState
  url: string | null
  problem: SharedRepository['problem']
  served?: Served
  parts?: { context: Context; engine: Engine }
  /** What its settings and folder looked like, and when, as it could not be opened. */
  tried?: { stamp: string; at: number }
  /** The opening or closing that is in progress, so that there is one at a time. */
  busy: Promise<void>
}

/** How many repositories are opened at once: each starts programs and connections of its own. */
const atOnce = 3
const lookEveryMs = 1_000
/** A broken repository whose folder and settings look as before is tried again after this time. */
const retryMs = 60_000

const setAsideText =
  'it has crashed the engine of all repositories several times, so that engine does not serve it any more; start an engine of its own there: unstuck up'

const ownText = 'it has an engine of its own, which serves it'

const detachedText = 'a person stopped it; "unstuck run" or "unstuck up --all" serves it again'

export interface ServedAll {
  /** Undefined = programs use the port. */
  socket: string | undefined
  list: () => SharedRepository[]
  stop: () => Promise<void>
  stopped: Promise<void>
}

/** Names the repository whose code an error comes from, also long after the call that led to it. */
const working = new AsyncLocalStorage<string>()

const createShared = (options: ServeAllOptions, stop: () => void) => {
  const { environment, version } = options
  const dir = sharedDirOf(environment)
  openStateDir(dir)
  const rooms = openRooms(dir, environment)
  const log = rooms.engine
  const memory = openSharedMemory(dir, Date.now)
  const keepsakes = openPersistedLogins(dir)
  const logins = createLogins(systemClock.now, keepsakes)
  const listener = createApiListener(dir, environment)
  const entries = new Map<string, Entry>()
  const allowHiddenCallers = options.allowHiddenCallers ?? false
  const runsLive = async (): Promise<boolean> => {
    for (const { parts } of entries.values())
      // One whose store does not respond may have runs.
      if (parts !== undefined && (await hasLiveRuns(parts.context).catch(() => true))) return true
    return false
  }
  const control = {
    ...{ listener, version, log, token: readToken(dir), shutdown: stop },
    personOnly: createPersonOnly({
      ...{ socket: listener.socket, allowHiddenCallers, runsLive },
      report: async (action, { program }) => log.warn({ action, program }, 'a program of a run was refused'),
    }),
  }
  const newTurn = createClaimTurns(systemClock.elapsed)
  return { options, dir, rooms, log, memory, keepsakes, logins, listener, entries, runsLive, control, newTurn }
}
type Shared = ReturnType<typeof createShared> & { router: ReturnType<typeof createRouter> }

const viewOf = ({ listed, state, url, problem }: Entry): SharedRepository => ({
  ...{ id: listed.id, repository: placeName(listed), state, url, problem },
})

const siblingsIn = ({ entries }: Shared): Promise<Sibling[]> =>
  Promise.all(
    [...entries.values()].map(async (entry) => ({
      ...viewOf(entry),
      counts: entry.parts === undefined ? null : await countsOf(entry.parts),
    })),
  )

/** Puts the app of a repository behind its own name at the common port. */
const reachIn =
  (shared: Shared, entry: Entry) =>
  async (parts: ApiParts): Promise<Api> => {
    const { listener, logins, runsLive, router, memory } = shared
    const { id } = entry.listed
    const host = hostNameOf(id)
    const shutdown = (): void => {
      // Before the end, so that a crash meanwhile does not bring it back.
      memory.setDetached(id, true)
      parts.shutdown()
    }
    const { port, socket, peerOf } = listener
    const siblings = (): Promise<Sibling[]> => siblingsIn(shared)
    const app = createApp({ ...parts, shutdown, logins, runsLive, siblings, names: [host], port, socket, peerOf })
    router.set(host, (...request) => working.run(id, () => app.fetch(...request)))
    entry.parts = parts
    return { url: `http://${host}:${port()}`, socket, close: () => router.delete(host) }
  }

const put = (entry: Entry, state: SharedState, problem: Entry['problem'] = null): void => {
  entry.state = state
  entry.problem = problem
}

const broken = ({ log }: Shared, entry: Entry, error: unknown): void => {
  const { stateDir, id } = entry.listed
  put(entry, 'broken', problemOf(error))
  entry.tried = { stamp: settingsStamp(listedAt(stateDir)), at: performance.now() }
  log.warn({ repository: id, problem: messageOf(error) }, 'a repository cannot be served now')
}

/** It was stopped by a person, or it stopped itself because its folder or its state folder is gone. */
const ended = (shared: Shared, entry: Entry): void => {
  const { id, stateDir } = entry.listed
  delete entry.served
  delete entry.parts
  entry.url = null
  if (shared.memory.isDetached(id)) return put(entry, 'detached', { code: 'ENGINE_UNAVAILABLE', message: detachedText })
  put(entry, 'starting')
  entry.tried = { stamp: '', at: performance.now() }
  entry.listed = listedAt(stateDir)
}

const openEntry = async (shared: Shared, entry: Entry): Promise<void> => {
  const { options, memory } = shared
  entry.listed = listedAt(entry.listed.stateDir)
  const { id, stateDir } = entry.listed
  if (memory.isSetAside(id)) return put(entry, 'set aside', { code: 'ENGINE_UNAVAILABLE', message: setAsideText })
  if (memory.isDetached(id)) return put(entry, 'detached', { code: 'ENGINE_UNAVAILABLE', message: detachedText })
  if (isServedByAnother(stateDir)) return put(entry, 'own', { code: 'ENGINE_RUNNING', message: ownText })
  memory.beginOpening(id)
  const turns = shared.newTurn()
  try {
    const { root, environment } = await checkedPlace(options.environment, entry.listed)
    const served = await serve({
      ...{ root, version: options.version, reach: reachIn(shared, entry), turns },
      ...defined({ allowHiddenCallers: options.allowHiddenCallers, at: options.at }),
      // A login that is given to one repository is not given to the others.
      environment: { ...environment, ...options.keptLogin?.(id) },
      keepLogin: (variables) => options.keepLogin?.(id, variables),
    })
    entry.served = served
    entry.url = served.url
    put(entry, 'served')
    void served.stopped.then(() => {
      turns.leave()
      ended(shared, entry)
    })
  } catch (error) {
    turns.leave()
    broken(shared, entry, error)
  } finally {
    memory.endOpening(id)
  }
}

/** After what is in progress with this repository. */
const open = (shared: Shared, entry: Entry): Promise<void> => {
  entry.busy = entry.busy
    .then(() => (entry.state === 'served' ? undefined : working.run(entry.listed.id, () => openEntry(shared, entry))))
    // What is remembered over a crash could not be written: on a full disk, for example.
    .catch((error: unknown) => broken(shared, entry, error))
  return entry.busy
}

const entryOf = ({ entries }: Shared, listed: Listed): Entry => {
  const known = entries.get(listed.id)
  if (known !== undefined) return known
  const entry: Entry = { listed, state: 'starting', url: null, problem: null, busy: Promise.resolve() }
  entries.set(listed.id, entry)
  return entry
}

/** A person typed a command in it. One that was moved is still served at its old place for a moment. */
const add = async (shared: Shared, id: string): Promise<SharedRepository> => {
  const { environment } = shared.options
  const stateDir = listStateDirs(environment).find((each) => listedAt(each).id === id)
  if (stateDir === undefined)
    throw new AppError('NOT_FOUND', `no repository "${id}" is on the list; "unstuck repos" shows all of them`)
  const listed = listedAt(stateDir)
  const entry = entryOf(shared, listed)
  await entry.busy
  const context = entry.parts?.context
  if (context?.repository.root !== listed.record?.root) await entry.served?.stop()
  if (context?.stopping.aborted === true) await entry.served?.stopped
  shared.memory.setDetached(id, false)
  await open(shared, entry)
  return viewOf(entry)
}

/** Opens the broken ones again whose folder or settings changed since, all others of them after a while. */
const retry = async (shared: Shared): Promise<void> => {
  const all = new Set(listStateDirs(shared.options.environment))
  for (const [id, entry] of shared.entries) {
    const { state, tried, listed } = entry
    // A person took it off the list.
    if (state === 'broken' && !all.has(listed.stateDir)) shared.entries.delete(id)
    if ((state !== 'broken' && state !== 'starting') || tried === undefined) continue
    const isDue = performance.now() - tried.at > retryMs
    if (isDue || settingsStamp(listedAt(listed.stateDir)) !== tried.stamp) await open(shared, entry)
  }
}

const watch = async (shared: Shared, stopping: AbortSignal): Promise<void> => {
  while (!stopping.aborted) {
    await delay(lookEveryMs, undefined, { signal: stopping }).catch(() => undefined) // stopped: the wait ends
    if (!stopping.aborted) await retry(shared)
  }
}

const openAll = async (shared: Shared, stopping: AbortSignal): Promise<void> => {
  const { options, memory } = shared
  const queue = listStateDirs(options.environment)
    .map(listedAt)
    .map((listed) => entryOf(shared, listed))
    .values()
  const openOn = async (): Promise<void> => {
    for (const entry of queue) if (!stopping.aborted) await open(shared, entry)
  }
  // After a crash one at a time, so that another crash names the one that caused it.
  const count = memory.hasCrashes() ? 1 : atOnce
  await Promise.all(Array.from({ length: count }, openOn))
}

export const serveAll = async (options: ServeAllOptions): Promise<ServedAll> => {
  const stopping = new AbortController()
  const stop = (): void => stopping.abort()
  const made = createShared(options, stop)
  const { dir, log, memory, keepsakes, logins, listener, entries, control } = made
  process.on('uncaughtExceptionMonitor', (error) => {
    const id = working.getStore()
    log.error({ repository: id, error: error.stack ?? messageOf(error) }, 'the engine of all repositories crashes')
    if (id !== undefined) memory.addCrash(id)
  })
  memory.countInterrupted()
  const list = (): SharedRepository[] => [...entries.values()].map(viewOf)
  const router = createRouter(createControl({ ...control, list, add: (id) => add(shared, id) }).fetch)
  const shared: Shared = { ...made, router }
  await listenAsBefore(listener, { fetch: router.fetch, keepsakes, logins, maxConnections: connectionLimit() })
  const { port, socket } = listener
  const address = addressText({ url: `http://127.0.0.1:${port()}`, socket }, options.version)
  replaceStateFile(dir, 'engine.json', address)
  log.info({ port: port() }, 'engine of all repositories ready')
  followDiagnostics(shared.rooms, stopping.signal)
  const opened = openAll(shared, stopping.signal)
  const watching = opened.then(() => watch(shared, stopping.signal))
  const closed = async (): Promise<void> => {
    if (!stopping.signal.aborted)
      await new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve(), { once: true }))
    await watching
    await Promise.all([...entries.values()].map(async ({ busy, served }) => (await busy, served?.stop())))
    rmSync(join(dir, 'engine.json'), { force: true })
    listener.close()
  }
  const stopped = closed()
  return {
    ...{ socket, list, stopped },
    stop: async () => {
      stop()
      await stopped
    },
  }
}
