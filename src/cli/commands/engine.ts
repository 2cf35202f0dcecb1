/** `unstuck engine` (hidden): runs the engine process, which `unstuck up` starts. Exits with 0 after a requested stop. */
import { exitCodes } from '../../errors.ts'
import { databaseOption, positiveNumber, withDatabase, type DatabaseOption, type Register } from '../command-options.ts'
import { awaitOption } from '../engine/kept-login.ts'
import type { Io } from '../io.ts'

interface EngineOptions extends DatabaseOption {
  idleExit?: number
  roles?: string[]
  publicUrl?: string
  allowHiddenCallers?: boolean
  awaitLogin?: boolean
  all?: boolean
}

/** Serves until a signal or a request ends it. */
const serving = async (io: Io, { stop, stopped }: { stop: () => Promise<void>; stopped: Promise<void> }) => {
  io.signal.addEventListener('abort', () => void stop(), { once: true })
  if (io.signal.aborted) await stop()
  await stopped
  return exitCodes.ok
}

const runAll = async (io: Io, options: EngineOptions, ready: () => void): Promise<number> => {
  const { awaitLogin, createRepositoryLogins } = await import('../engine/kept-login.ts')
  const logins = createRepositoryLogins(options.awaitLogin === true ? await awaitLogin() : {})
  const { serveAll } = await import('../../api/serve-all.ts')
  const served = await serveAll({
    ...{ environment: io.environment, version: io.version, keepLogin: logins.keep, keptLogin: logins.of },
    ...(options.allowHiddenCallers === true ? { allowHiddenCallers: true } : {}),
  })
  ready()
  return serving(io, served)
}

const run = async (io: Io, options: EngineOptions, ready: () => void): Promise<number> => {
  const { engineRoles } = await import('../../domain/engine.ts')
  const roles = options.roles === undefined ? engineRoles : engineRoles.filter((role) => options.roles?.includes(role))
  const { refuseRuns } = await import('../person-here.ts')
  await refuseRuns(io, 'unstuck engine')
  if (options.all === true) return runAll(io, options, ready)
  const { awaitLogin, handOverLogin } = await import('../engine/kept-login.ts')
  if (options.awaitLogin === true) Object.assign(io.environment, await awaitLogin())
  const { serve } = await import('../../api/serve.ts')
  const { parsePublicUrl } = await import('../../api/answer-link.ts')
  const served = await serve({
    root: io.cwd,
    environment: io.environment,
    version: io.version,
    keepLogin: handOverLogin,
    roles,
    ...(options.publicUrl === undefined ? {} : { publicUrl: parsePublicUrl(options.publicUrl) }),
    ...(options.allowHiddenCallers === true ? { allowHiddenCallers: true } : {}),
    ...(options.idleExit === undefined ? {} : { idleExitMs: options.idleExit * 1000 }),
  })
  ready()
  return serving(io, served)
}

const engine = async (io: Io, options: EngineOptions): Promise<number> => {
  const { sendHeartbeats } = await import('../engine/watchdog.ts')
  const heartbeats = sendHeartbeats()
  try {
    return await run(io, options, heartbeats.ready)
  } finally {
    heartbeats.end()
  }
}

export const register: Register = (program, act) => {
  program
    .command('engine', { hidden: true })
    .option('--idle-exit <seconds>', 'exit after this many seconds without work', positiveNumber)
    .option('--all', 'serve all repositories of this user')
    .option('--roles <list>', 'control, executor', (text: string) => text.split(','))
    .option('--public-url <url>', 'where a proxy passes /answer/ to this engine')
    .option(awaitOption, 'wait for the credentials that the engine before this one had')
    .option('--allow-hidden-callers', 'callers over TCP need not be found')
    .option(...databaseOption)
    .action((options: EngineOptions) => act((io) => engine(withDatabase(io, options), options)))
}
