/**
 * Composes the engine of one repository: store, shadow, loop and API, and takes them apart again in order. Tests and the
 * chaos suites build the same with crash points that kill; the product's are no-ops.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { serve as listen } from '@hono/node-server'
import { pino } from 'pino'
import { loadConfig, type Config } from '../config.ts'
import { AppError, messageOf } from '../errors.ts'
import { fileLimit, identityOf, listenerOn, livenessOf, machineNow, oomKills, reach, roomAt } from '../platform.ts'
import type { EngineRole } from '../domain/engine.ts'
import { playbooks } from '../recovery/ladder.ts'
import type { Playbook } from '../recovery/playbook.ts'
import { goalEnded } from '../domain/goal.ts'
import { markerName } from '../process/find.ts'
import type { Context, CrashPoint, Log } from '../runtime/context.ts'
import { realPorts } from '../runtime/ports.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { createLink } from '../runtime/remote-link.ts'
import { createBell, startEngine, type Bell, type Engine } from '../runtime/engine.ts'
import { appendEvent } from '../store/event.ts'
import { listLiveGoals } from '../store/goal.ts'
import { withNotice } from '../store/notice.ts'
import { openStore } from '../store/open.ts'
import { databaseOf, storeName } from '../store/postgres-place.ts'
import { mirrorRoot, openRemote } from '../workspace/remote.ts'
import { remoteOf } from '../workspace/remote-url.ts'
import { openRepository } from '../workspace/repository.ts'
import { openShadow } from '../workspace/shadow.ts'
import { createApp, type AppParts } from './app.ts'
import { createDashboard, dashboardPlace } from './dashboard.ts'
import { createEventHub, type HubOptions } from './event-hub.ts'
import { createKeepsakes, type Keepsakes } from './keepsakes.ts'
import { createLogins } from './logins.ts'
import type { SinkLimits } from './sink.ts'
import { cacheDirOf, stateDirOf } from './state-dir.ts'

export interface ServeOptions {
  root: string
  environment: Record<string, string | undefined>
  version: string
  flags?: Record<string, unknown>
  at?: (point: CrashPoint) => void
  /** Instead of the built-in ones: a test proves with it that a playbook without effect does not count as a recovery. */
  playbooks?: readonly Playbook[]
  /** What this engine does; absent = it leads, if no other does, and executes. */
  roles?: readonly EngineRole[]
  /** False: changes that others make to a PostgreSQL store are found by polling alone. Absent = they notify. */
  notifications?: boolean
  /** Ends the engine after this long without a goal that it could work on; absent = never. */
  idleExitMs?: number
  /** Patience with those who follow the events; absent = the product's. */
  following?: Partial<Pick<HubOptions, 'pollMs' | 'heartbeatMs'> & Pick<SinkLimits, 'maxBehind' | 'stallMs'>>
}

export interface Served {
  url: string
  stop(): Promise<void>
  stopped: Promise<void>
}

/** The owner's token, made at the first start, readable by its owner only. */
const readToken = (stateDir: string): string => {
  const path = join(stateDir, 'token')
  if (!existsSync(path)) {
    // Complete or not at all: after a crash an empty file would be a token that no client can give.
    writeFileSync(`${path}.new`, randomBytes(32).toString('base64url'), { mode: 0o600 })
    renameSync(`${path}.new`, path)
  }
  return readFileSync(path, 'utf8').trim()
}

const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'

const newId = (prefix: string): string =>
  `${prefix}-${[...randomBytes(8)].map((byte) => alphabet[byte % alphabet.length]).join('')}`

/** Keeps the last good configuration: a file that is broken while agents run stops nothing, and is reported once. */
const configReader = (options: ServeOptions, root: string, log: Log): (() => Config) => {
  const read = (): Config => loadConfig({ root, environment: options.environment, flags: options.flags ?? {} })
  let good = read()
  let reported = ''
  return () => {
    try {
      good = read()
      reported = ''
    } catch (error) {
      if (messageOf(error) !== reported)
        log.error({ error: messageOf(error) }, 'the configuration is not valid; the last good one stays in force')
      reported = messageOf(error)
    }
    return good
  }
}

interface Signals {
  wake: () => void
  /** Called after every write to the store. */
  written: () => void
  stopping: AbortSignal
}

/** The repository of this folder, or the mirror of the one that a URL names. */
const openPlace = async ({ root, environment, flags = {} }: ServeOptions) => {
  const address = remoteOf(environment, root)
  if (address === undefined) return { repository: await openRepository(root), remote: undefined }
  const stateDir = stateDirOf(environment, address.id)
  const config = loadConfig({ root: mirrorRoot(stateDir), environment, flags })
  return openRemote({ address, stateDir, environment, timeoutMs: config.remote.timeoutSeconds * 1000 })
}

const openContext = async (options: ServeOptions, { wake, written, stopping }: Signals): Promise<Context> => {
  const { repository, remote } = await openPlace(options)
  const stateDir = stateDirOf(options.environment, repository.id)
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  const log = pino(
    { base: { pid: process.pid } },
    pino.destination({ dest: join(stateDir, 'engine.log'), sync: true, mkdir: true }),
  )
  const config = configReader(options, repository.root, log)
  const cacheDir = cacheDirOf(options.environment)
  const database = databaseOf(options.environment, repository.id)
  const opened = await openStore({
    stateDir,
    cacheDir,
    database,
    lead: options.roles?.includes('control') ?? true,
    ...(options.notifications === false ? {} : { changed: wake }),
  })
  const db = withNotice(opened, written)
  return {
    db,
    ports: realPorts,
    clock: systemClock,
    newId,
    at: options.at ?? (() => undefined),
    log,
    repository,
    remote: remote && createLink(remote, { db, clock: systemClock, log }),
    shadow: await openShadow(stateDir, repository),
    stateDir,
    cacheDir,
    config,
    policy: () => ({
      playbooks: options.playbooks ?? playbooks,
      disabled: config().playbooks.disabled,
      retry: config().retry,
    }),
    cliVersions: new Map(),
    environment: options.environment,
    wake,
    stopping,
    host: hostname(),
    machine: {
      self: identityOf(process.pid) ?? { host: hostname(), bootId: '', pid: process.pid, startTime: '' },
      liveness: livenessOf,
      now: machineNow,
      room: roomAt,
      oomKills,
      fileLimit,
      listener: (port) => listenerOn(port, markerName),
      reach,
    },
  }
}

const writeAddress = (stateDir: string, url: string, version: string): void => {
  const path = join(stateDir, 'engine.json')
  writeFileSync(`${path}.new`, JSON.stringify({ url, version, identity: identityOf(process.pid) }), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** Whether any goal still needs this engine. */
const hasWork = async (context: Context, engine: Engine): Promise<boolean> =>
  engine.running() > 0 || (await listLiveGoals(context.db)).some((goal) => !goalEnded(goal.state))

const watchIdle = async (context: Context, engine: Engine, idleExitMs: number, stop: () => void): Promise<void> => {
  let quietSince = performance.now()
  while (!context.stopping.aborted) {
    await context.clock.wait(Math.min(5_000, idleExitMs), context.stopping)
    if (await hasWork(context, engine).catch(() => true)) quietSince = performance.now()
    if (performance.now() - quietSince > idleExitMs) return stop()
  }
}

/** Cookies are shared by all ports of an address: each repository's engine has its own name for them. */
const cookieOf = (repositoryId: string): string => `unstuck_${repositoryId.replaceAll(/[^A-Za-z0-9]/g, '').slice(-16)}`

const listenOn = (fetch: ReturnType<typeof createApp>['fetch'], wanted: number, listening: (port: number) => void) =>
  new Promise<ReturnType<typeof listen>>((resolve, reject) => {
    const created = listen({ fetch, hostname: '127.0.0.1', port: wanted }, (info) => {
      listening(info.port)
      resolve(created)
    })
    created.on('error', (error: Error) =>
      reject(new AppError('ENGINE_UNAVAILABLE', `the API cannot listen on loopback: ${error.message}`)),
    )
  })

/** Takes up the port of before, so that an open page and its cookie go on. */
const startApi = async (
  parts: Omit<AppParts, 'port'>,
  keepsakes: Keepsakes,
): Promise<{ url: string; close: () => void }> => {
  let port = 0
  const app = createApp({ ...parts, port: () => port })
  const before = keepsakes.port()
  const listening = (given: number): void => {
    port = given
    // Whoever has our old port now may have been shown the cookies of pages that were left open.
    if (given !== before) parts.logins.forget()
  }
  const server = await listenOn(app.fetch, before, listening).catch((error: unknown) => {
    if (before === 0) throw error
    return listenOn(app.fetch, 0, listening)
  })
  keepsakes.keepPort(port)
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() }
}

const begin = async (context: Context, bell: Bell, roles: ServeOptions['roles']): Promise<Engine> => {
  try {
    return await startEngine(context, bell, roles)
  } catch (error) {
    // Its sessions would keep the process alive, and the lock of the state folder held.
    await context.db.close()
    throw error
  }
}

export const serve = async (options: ServeOptions): Promise<Served> => {
  const stopping = new AbortController()
  const bell = createBell()
  let nudge = (): void => {}
  const wake = (): void => {
    bell.ring()
    nudge()
  }
  const context = await openContext(options, { wake, written: () => nudge(), stopping: stopping.signal })
  const { pollMs, heartbeatMs, maxBehind = 256 * 1024, stallMs = 60_000 } = options.following ?? {}
  const hub = createEventHub({
    db: context.db,
    log: context.log,
    ...(pollMs === undefined ? {} : { pollMs }),
    ...(heartbeatMs === undefined ? {} : { heartbeatMs }),
  })
  nudge = hub.nudge
  const engine = await begin(context, bell, options.roles)
  const keepsakes = createKeepsakes(context.stateDir)
  const api = await startApi(
    {
      context,
      engine,
      hub,
      dashboard: createDashboard({ place: dashboardPlace(), ...context }),
      sinkLimits: { maxBehind, stallMs, now: () => performance.now() },
      logins: createLogins(context.clock.now, keepsakes),
      cookie: cookieOf(context.repository.id),
      token: readToken(context.stateDir),
      store: storeName(databaseOf(options.environment, context.repository.id)),
      version: options.version,
      shutdown: () => setImmediate(() => stopping.abort()),
    },
    keepsakes,
  )
  writeAddress(context.stateDir, api.url, options.version)
  context.log.info({ url: api.url, root: context.repository.root }, 'engine ready')
  const stopped = engine.stopped.then(async () => {
    rmSync(join(context.stateDir, 'engine.json'), { force: true })
    api.close()
    await appendEvent(context.db, { type: 'engine.stopped' }).catch((error: unknown) =>
      context.log.warn({ error: messageOf(error) }, 'the end of the engine could not be recorded'),
    )
    // After the last event, so that whoever follows has it too.
    await hub.close()
    await context.db.close()
  })
  if (options.idleExitMs !== undefined) void watchIdle(context, engine, options.idleExitMs, () => stopping.abort())
  return {
    url: api.url,
    stopped,
    stop: async () => {
      stopping.abort()
      await stopped
    },
  }
}
