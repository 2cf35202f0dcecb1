/**
 * Starts the engine of one repository (store, shadow, loop and API) and stops them in order. Tests and the chaos suites use the
 * same code with crash points that kill the process; in production they do nothing.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { goalEnded } from '../domain/goal.ts'
import { messageOf } from '../errors.ts'
import type { Context } from '../runtime/core/context.ts'
import { createWakeUp, startEngine, type Engine } from '../runtime/engine/engine.ts'
import { overlapsOf } from '../recovery/proposal/match.ts'
import { appendEvent } from '../store/event.ts'
import { orClose } from '../store/open.ts'
import { listLiveGoals } from '../store/goal.ts'
import { hasSchedules } from '../store/schedule.ts'
import { configuredDatabase, storeName } from '../store/postgres-location.ts'
import { createDashboard, dashboardPlace } from './dashboard.ts'
import { openContext, type EngineOptions } from './engine-context.ts'
import { createEventHub, type EventHub, type HubOptions } from './event-hub.ts'
import { openRunTokens } from './run-token.ts'
import { addressText, readToken, startApi, type Api, type ApiParts } from './listen.ts'
import { connectionLimit, createStreamLimits } from './limits.ts'
import { watchConnections } from './watch-connections.ts'
import type { SinkLimits } from './sink.ts'
import { replaceStateFile, writingIn } from './state-dir.ts'
import { watchDisk } from './watch-disk.ts'
import { watchStateFiles } from './watch-state-files.ts'
import { goneText, isRepositoryGone } from '../runtime/core/gone-repository.ts'
import { defined } from '../domain/defined.ts'

const everyMs = 1_000

/** A repository that is cloned anew, and a mount that hangs, are back by then. */
const goneMs = 10_000

/**
 * Ends the engine when the folder of its repository has been gone for a while: it was moved, renamed or deleted, and nothing can be done
 * at its path. Agents and their work stay, and the engine that starts where the repository is then continues with them.
 */
const watchRepository = async (context: Context, stop: () => void): Promise<void> => {
  const { clock, log, repository, stopping } = context
  let goneAt: number | undefined
  while (!stopping.aborted) {
    await clock.wait(everyMs, stopping)
    goneAt = (await isRepositoryGone(context)) ? (goneAt ?? clock.elapsed()) : undefined
    if (goneAt === undefined || clock.elapsed() - goneAt < goneMs) continue
    log.error({ root: repository.root }, goneText(repository.root))
    return stop()
  }
}

export interface ServeOptions extends EngineOptions {
  version: string
  /** Lets in callers over TCP that cannot be found, such as a connection that ssh forwards, while programs of runs are alive. */
  allowHiddenCallers?: boolean
  /** How it is reached where its process serves several repositories; absent = at a port of its own. */
  reach?: (parts: ApiParts) => Promise<Api>
  /** Stops the engine after this many milliseconds without a goal to work on; absent = never. */
  idleExitMs?: number
  /** Intervals and limits of the event streams; absent = the defaults. */
  following?: Partial<Pick<HubOptions, 'pollMs' | 'heartbeatMs'> & Pick<SinkLimits, 'maxBehind' | 'stallMs'>> & {
    /** Streams that the owner's token may have open. */
    ownerStreams?: number
  }
}

export interface Served {
  url: string
  /** Undefined = programs use `url`. */
  socket?: string | undefined
  stop(): Promise<void>
  stopped: Promise<void>
}

/** Whether any goal still needs this engine, or a schedule will. */
const hasWork = async (context: Context, engine: Engine): Promise<boolean> =>
  engine.running() > 0 ||
  (await listLiveGoals(context.db)).some((goal) => !goalEnded(goal.state)) ||
  (await hasSchedules(context.db))

const watchIdle = async (context: Context, engine: Engine, idleExitMs: number, stop: () => void): Promise<void> => {
  let quietSince = performance.now()
  while (!context.stopping.aborted) {
    await context.clock.wait(Math.min(5_000, idleExitMs), context.stopping)
    if (await hasWork(context, engine).catch(() => true)) quietSince = performance.now()
    if (performance.now() - quietSince > idleExitMs) return stop()
  }
}

interface Running {
  context: Context
  engine: Engine
  hub: EventHub
}

const openHub = ({ db, log }: Context, { pollMs, heartbeatMs }: NonNullable<ServeOptions['following']>): EventHub =>
  createEventHub({
    db,
    log,
    ...defined({ pollMs, heartbeatMs }),
  })

const openApi = ({ context, engine, hub }: Running, options: ServeOptions, stop: () => void) => {
  const { maxBehind = 256 * 1024, stallMs = 60_000, ownerStreams } = options.following ?? {}
  const parts: ApiParts = {
    context,
    engine,
    hub,
    dashboard: createDashboard({ place: dashboardPlace(), ...context }),
    sinkLimits: { maxBehind, stallMs, now: () => performance.now() },
    streams: createStreamLimits(ownerStreams),
    token: readToken(context.stateDir),
    runTokens: openRunTokens(context.stateDir),
    store: storeName(configuredDatabase(options.environment, context.repository.id)),
    version: options.version,
    allowHiddenCallers: options.allowHiddenCallers ?? false,
    shutdown: () => setImmediate(stop),
  }
  return options.reach?.(parts) ?? startApi(parts, connectionLimit(ownerStreams))
}

const close = async (
  { context, hub }: Running,
  { close: closeApi }: Api,
  { reach }: Pick<ServeOptions, 'reach'>,
): Promise<void> => {
  const removeAddress = (): void => rmSync(join(context.stateDir, 'engine.json'), { force: true })
  if (reach === undefined) removeAddress()
  closeApi()
  await appendEvent(context.db, { type: 'engine.stopped' }).catch((error: unknown) =>
    context.log.warn({ error: messageOf(error) }, 'the end of the engine could not be recorded'),
  )
  // After the last event, so that followers receive it.
  await hub.close()
  await context.db.close()
  // Its process goes on, so that the end of the process does not say that the store is released.
  if (reach !== undefined) removeAddress()
}

/** Serves this engine, writes where it is found, and stops it where that fails. */
const opened = async (running: Running, options: ServeOptions, stop: () => void) => {
  const { context, engine } = running
  let listening: Api | undefined
  try {
    const api = await openApi(running, options, stop)
    listening = api
    const address = addressText(api, options.version, options.reach !== undefined)
    replaceStateFile(context.stateDir, 'engine.json', address)
    // The first line of this start. A log on a full disk throws.
    writingIn(context.stateDir, () => context.log.info({ url: api.url, root: context.repository.root }, 'engine ready'))
    return { api, address }
  } catch (error) {
    listening?.close()
    stop()
    await engine.stopped
    await context.db.close()
    throw error
  }
}

/** Listed commands run although a pattern matches them as well; the owner may have meant otherwise. */
const warnOfOverlaps = ({ config, log }: Context): void => {
  const { recovery } = config()
  for (const { command, pattern } of recovery === undefined ? [] : overlapsOf(recovery))
    log.warn({ command, pattern }, 'recovery.auto_approve lists a command that recovery.require_human matches; it runs')
}

export const serve = async (options: ServeOptions): Promise<Served> => {
  const stopping = new AbortController()
  const stop = (): void => stopping.abort()
  const wakeUp = createWakeUp()
  let nudge = (): void => {}
  const wake = (): void => {
    wakeUp.wake()
    nudge()
  }
  const context = await openContext(options, { wake, written: () => nudge(), stopping: stopping.signal })
  const hub = openHub(context, options.following ?? {})
  nudge = hub.nudge
  const engine = await orClose(context.db, () => startEngine(context, wakeUp, options.roles))
  const running = { context, engine, hub }
  const { api, address } = await opened(running, options, stop)
  warnOfOverlaps(context)
  const stopped = engine.stopped.then(() => close(running, api, options))
  void watchConnections(context)
  void watchDisk(context)
  void watchRepository(context, stop)
  void watchStateFiles(context, { 'engine.json': address, token: readToken(context.stateDir) }, stop)
  if (options.idleExitMs !== undefined) void watchIdle(context, engine, options.idleExitMs, stop)
  return {
    url: api.url,
    socket: api.socket,
    stopped,
    stop: async () => {
      stop()
      await stopped
    },
  }
}
