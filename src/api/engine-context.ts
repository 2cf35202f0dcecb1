/** Opens the context of the engine of one repository: repository, store, shadow, log, configuration and the real machine. */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../config/config.ts'
import type { EngineRole } from '../domain/engine.ts'
import { fileLimit, machineResources, oomKills, diskSpaceAt } from '../platform/machine.ts'
import { listenerOn, connectFailure } from '../platform/tcp-ports.ts'
import { identityOf, livenessOf } from '../platform/process.ts'
import { markerName } from '../process/find.ts'
import { playbooks, type LadderSettings } from '../recovery/ladder.ts'
import type { Playbook } from '../recovery/playbook.ts'
import type { ClaimTurn, Context, CrashPoint, RunToolAccess } from '../runtime/core/context.ts'
import { realFiles } from '../runtime/core/files.ts'
import { canStartHarness } from '../runtime/harness/harness-choice.ts'
import type { OwnerSettings } from '../runtime/engine/owner-settings.ts'
import { realPorts } from '../runtime/core/ports.ts'
import { createRemoteLink } from '../runtime/core/remote-link.ts'
import { systemClock } from '../runtime/core/system-clock.ts'
import type { Db } from '../store/db.ts'
import { withStatementLog } from '../store/statement-log.ts'
import { withWriteListener } from '../store/write-listener.ts'
import { openStore, orClose } from '../store/open.ts'
import { configuredDatabase } from '../store/postgres-location.ts'
import { mirrorRoot, openOrigin, openRemote } from '../workspace/remote.ts'
import { remoteFromEnvironment } from '../workspace/remote-url.ts'
import { openShadow } from '../workspace/shadow.ts'
import type { Repository } from '../workspace/repository-types.ts'
import { openAnswerLinks } from './answer-link.ts'
import { followDiagnostics, openRooms, type EngineLog } from './engine-log.ts'
import { forgeHere } from './forge-here.ts'
import { openRepositoryHere, recordPlace } from './repository-place.ts'
import { recordRepository } from './known-repository.ts'
import { openRunTokens, type RunTokens } from './run-token.ts'
import { settingsOf } from './settings.ts'
import { cacheDirOf, openStateDir, stateDirOf } from './state-dir.ts'
import { existsSync } from 'node:fs'
import { shippedPath } from '../platform/shipped-path.ts'
import { defined } from '../domain/defined.ts'

// How the agent of a run reaches the tools of its run: the command of the server, and what its environment needs.

/** bin/unstuck.js, in a checkout and in an installed package. */
const entryPoint = (): string => {
  const path = shippedPath(existsSync, 'bin', 'unstuck.js')
  if (path === undefined) throw new Error('bin/unstuck.js is missing from this installation')
  return path
}

const toolAccessOf = (stateDir: string, tokens: RunTokens): RunToolAccess => ({
  command: [process.execPath, entryPoint(), 'mcp'],
  variables: (run) => ({ UNSTUCK_RUN_TOKEN: tokens.issue(run), UNSTUCK_ENGINE_FILE: join(stateDir, 'engine.json') }),
})

export interface EngineOptions {
  root: string
  environment: Record<string, string | undefined>
  /** Called with credentials that a person gives while the engine runs; absent = they end with it. */
  keepLogin?: (variables: Readonly<Record<string, string>>) => void
  flags?: Record<string, unknown>
  at?: (point: CrashPoint) => void
  /** Replaces the built-in playbooks in tests, for example to prove that a playbook without effect does not count. */
  playbooks?: readonly Playbook[]
  /** Where a browser of the owner reaches `/answer/` from elsewhere; absent = notifications have no links. */
  publicUrl?: URL
  /** Absent = it executes, and leads if no other engine does. */
  roles?: readonly EngineRole[]
  /** Absent = no other engine shares this process. */
  turns?: ClaimTurn
  /** False = changes of other engines to a PostgreSQL store are found only by polling. Absent = they also notify. */
  notifications?: boolean
}

const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'

const newId = (prefix: string): string =>
  `${prefix}-${[...randomBytes(8)].map((byte) => alphabet[byte % alphabet.length]).join('')}`

interface Signals {
  wake: () => void
  /** Called after every write to the store. */
  written: () => void
  stopping: AbortSignal
}

/** The repository of this folder, or the mirror of a remote one, with its state folder. */
const openPlace = async ({ root, environment, flags = {} }: EngineOptions) => {
  const address = remoteFromEnvironment(environment, root)
  if (address === undefined) {
    const { repository } = await openRepositoryHere(environment, root)
    openStateDir(stateDirOf(environment, repository.id))
    return { repository, remote: undefined }
  }
  const stateDir = stateDirOf(environment, address.id)
  openStateDir(stateDir)
  const config = loadConfig({ root: mirrorRoot(stateDir), environment, flags })
  return openRemote({ address, stateDir, environment, timeoutMs: config.remote.timeoutSeconds * 1000 })
}

/** This process and the machine it runs on, as the runtime sees them. */
const machineHere = (): NonNullable<Context['machine']> => ({
  self: identityOf(process.pid) ?? { host: hostname(), bootId: '', pid: process.pid, startTime: '' },
  liveness: livenessOf,
  now: machineResources,
  room: diskSpaceAt,
  oomKills,
  fileLimit,
  listener: (port) => listenerOn(port, markerName),
  reach: connectFailure,
})

const openDb = async (
  options: EngineOptions,
  paths: { stateDir: string; repositoryId: string },
  { wake, written }: Signals,
): Promise<Db> => {
  const { stateDir, repositoryId } = paths
  const opened = await openStore({
    stateDir,
    environment: options.environment,
    database: configuredDatabase(options.environment, repositoryId),
    mayLead: options.roles?.includes('control') ?? true,
    ...(options.notifications === false ? {} : { onForeignChange: wake }),
  })
  return withWriteListener(opened, written)
}

/** The same store, its statements in the log where that is asked for. */
const loggedDb = (db: Db, { store }: EngineLog): Db =>
  store.isLevelEnabled('debug')
    ? withStatementLog(db, {
        notable: (statement) => store.debug(statement, 'a slow or failed statement'),
        ...(store.isLevelEnabled('trace') ? { ordinary: (statement) => store.trace(statement, 'a statement') } : {}),
      })
    : db

const policyOf = (
  { playbooks: given = playbooks, environment }: EngineOptions,
  settings: OwnerSettings,
): LadderSettings => {
  const config = settings.config()
  return {
    playbooks: given,
    disabled: config.playbooks.disabled,
    fruitlessCalls: config.requeue.fruitlessCalls,
    retry: config.retry,
    own: {
      playbooks: settings.playbooks(),
      mayPropose: config.recovery?.enabled === true,
      canUse: (harness) => canStartHarness(realFiles, config, harness, environment.PATH),
    },
  }
}

export const openContext = async (options: EngineOptions, signals: Signals): Promise<Context> => {
  const { environment } = options
  const { repository: opened, remote } = await openPlace(options)
  const stateDir = stateDirOf(environment, opened.id)
  recordRepository(stateDir, opened)
  const rooms = openRooms(stateDir, environment)
  const log = rooms.engine
  // Engines that share their process would each write what all of them do.
  if (options.turns === undefined) followDiagnostics(rooms, signals.stopping)
  const { root } = opened
  const cacheDir = cacheDirOf(environment)
  // Read before the store is opened, so that a mistake in a file is reported first.
  loadConfig({ root, environment, flags: options.flags ?? {} })
  const db = loggedDb(await openDb(options, { stateDir, repositoryId: opened.id }, signals), rooms)
  return orClose(db, async () => {
    if (remote === undefined) await recordPlace(stateDir, opened)
    const settings = await settingsOf({ db, stateDir, root, environment, flags: options.flags ?? {} })
    const { config } = settings
    const repository: Repository = {
      ...opened,
      get filters() {
        return config().workspace.filters
      },
    }
    return {
      db,
      ports: realPorts,
      clock: systemClock,
      newId,
      at: options.at ?? (() => undefined),
      log,
      repository,
      remote: remote && createRemoteLink(remote, { db, clock: systemClock, log }),
      ...forgeHere({ repository, environment, config }),
      origin: () => openOrigin(repository, { environment, timeoutMs: config().remote.timeoutSeconds * 1000 }),
      shadow: await openShadow(stateDir, repository),
      stateDir,
      cacheDir,
      config,
      pathPolicy: settings.pathPolicy,
      contract: settings.contract,
      refreshSettings: settings.refresh,
      confirmSettings: settings.confirm,
      approveEntry: settings.approve,
      policy: () => policyOf(options, settings),
      cliVersions: new Map(),
      environment,
      ...defined({ keepLogin: options.keepLogin }),
      wake: signals.wake,
      stopping: signals.stopping,
      host: hostname(),
      machine: machineHere(),
      ...defined({ turns: options.turns }),
      runTools: toolAccessOf(stateDir, openRunTokens(stateDir)),
      ...(options.publicUrl === undefined ? {} : { answerLinks: openAnswerLinks(stateDir, options.publicUrl) }),
    }
  })
}
