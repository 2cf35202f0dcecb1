/**
 * The API without an engine: the same routes and handlers, served within this process on a store opened for reading. So every
 * command that only reads shows the same whether or not an engine is running, and does not start one.
 */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { loadConfig } from '../config/config.ts'
import { loadPolicyRecovery } from '../config/policy-recovery-file.ts'
import { AppError } from '../errors.ts'
import { playbooks } from '../recovery/ladder.ts'
import type { Context } from '../runtime/core/context.ts'
import { realPorts } from '../runtime/core/ports.ts'
import { systemClock } from '../runtime/core/system-clock.ts'
import type { Engine } from '../runtime/engine/engine.ts'
import type { Db } from '../store/db.ts'
import { openForReading } from '../store/open.ts'
import { configuredDatabase, storeName } from '../store/postgres-location.ts'
import type { Repository } from '../workspace/repository-types.ts'
import { shadowAt } from '../workspace/shadow.ts'
import { createApp, type AppParts } from './app.ts'
import { localNames } from './auth.ts'
import { openLog } from './engine-log.ts'
import { forgeHere } from './forge-here.ts'
import { createStreamLimits } from './limits.ts'
import { createLogins } from './logins.ts'
import { siblingsOfOne } from './siblings.ts'
import { cacheDirOf } from './state-dir.ts'

export interface ReaderOptions {
  repository: Repository
  stateDir: string
  environment: Record<string, string | undefined>
  version: string
}

export interface Reader {
  /** True if no engine uses the store, which is known only of a server of the user's own. */
  isEngineGone: boolean
  url: string
  token: string
  /** Responds as the engine would. Throws ENGINE_UNAVAILABLE for a request that would change something. */
  send(url: string, init: RequestInit): Promise<Response>
  close(): Promise<void>
}

const needsEngine = (): never => {
  throw new AppError('ENGINE_UNAVAILABLE', 'no engine is running here; start it with "unstuck up"')
}

const contextOf = (db: Db, { repository, stateDir, environment }: ReaderOptions): Context => {
  const config = () => loadConfig({ root: repository.root, environment })
  return {
    db,
    ports: realPorts,
    clock: systemClock,
    newId: needsEngine,
    at: () => undefined,
    log: {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      // The log file of the engine is opened only for an error.
      error: (fields, message) => openLog(stateDir, environment).error(fields, message),
    },
    repository,
    ...forgeHere({ repository, environment, config }),
    shadow: shadowAt(stateDir, repository),
    stateDir,
    cacheDir: cacheDirOf(environment),
    config,
    pathPolicy: () => loadPolicyRecovery({ root: repository.root, environment }),
    policy: () => ({
      ...{ playbooks, disabled: config().playbooks.disabled, retry: config().retry },
      fruitlessCalls: config().requeue.fruitlessCalls,
    }),
    cliVersions: new Map(),
    environment,
    wake: () => undefined,
    stopping: new AbortController().signal,
    host: hostname(),
  }
}

const noEngine: Engine = {
  id: '',
  stopped: Promise.resolve(),
  running: () => 0,
  draining: () => false,
  drain: needsEngine,
  cancelRunning: needsEngine,
}

const partsOf = (context: Context, token: string, { repository, environment, version }: ReaderOptions): AppParts => ({
  context,
  token,
  version,
  engine: noEngine,
  siblings: siblingsOfOne({ context, engine: noEngine }),
  hub: { nudge: () => undefined, follow: needsEngine, followers: () => 0, close: () => Promise.resolve() },
  dashboard: { locate: needsEngine, asset: needsEngine },
  sinkLimits: { maxBehind: 0, stallMs: 0, now: () => 0 },
  streams: createStreamLimits(),
  logins: createLogins(systemClock.now),
  names: localNames,
  port: () => 0,
  ...{ socket: undefined, peerOf: () => undefined, allowHiddenCallers: false },
  store: storeName(configuredDatabase(environment, repository.id)),
  shutdown: needsEngine,
})

/** Starts the embedded server if it does not run, and leaves it afterwards. */
export const openReader = async (options: ReaderOptions): Promise<Reader> => {
  const { repository, stateDir, environment } = options
  const database = configuredDatabase(environment, repository.id)
  const { db, isEngineGone } = await openForReading({ stateDir, environment, database })
  const token = randomBytes(32).toString('base64url')
  const app = createApp(partsOf(contextOf(db, options), token, options))
  return {
    isEngineGone,
    url: 'http://127.0.0.1:0',
    token,
    send: async (url, init) => {
      if ((init.method ?? 'GET') !== 'GET') needsEngine()
      const headers = new Headers(init.headers)
      headers.set('host', '127.0.0.1:0')
      return app.request(url, { ...init, headers })
    },
    close: () => db.close(),
  }
}
