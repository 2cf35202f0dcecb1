/**
 * `unstuck up`: the engine under a parent that restarts it after a crash (5 times in 15 minutes, then a notice), and the
 * hidden `unstuck engine`, which is the engine itself.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { engineRoles } from '../../domain/engine.ts'
import { AppError, exitCodes } from '../../errors.ts'
import type { LoginUrl } from '../../api/contract.ts'
import { repositoryName } from '../../workspace/remote.ts'
import { connect, findEngine, makeRoot, placeOf, type Client } from '../client.ts'
import { line, printJson, type Io } from '../io.ts'

const restartLimit = 5
const restartWindowMs = 15 * 60 * 1000
const readyDeadlineMs = 120_000

interface Ending {
  code: number | null
  signal: NodeJS.Signals | null
}

const startChild = (io: Io, root: string, args: string[]): ChildProcess => {
  const [program = '', ...first] = io.self
  return spawn(program, [...first, 'engine', ...args], {
    cwd: root,
    env: io.environment,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}

const endOf = (child: ChildProcess): Promise<Ending> =>
  new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', () => resolve({ code: exitCodes.unavailable, signal: null }))
  })

const waitReady = async (io: Io, child: ChildProcess): Promise<Client | undefined> => {
  const place = await placeOf(io)
  const deadline = performance.now() + readyDeadlineMs
  while (performance.now() < deadline && child.exitCode === null && child.signalCode === null) {
    const client = await findEngine(place)
    if (client !== undefined) return client
    await delay(50)
  }
  return undefined
}

const showLogin = async (io: Io, client: Client): Promise<void> => {
  try {
    const { url } = await client.post<LoginUrl>('/login-codes')
    line(io, `in a browser, once, within ten minutes: ${url}`)
  } catch {
    // The engine ended in this moment; what follows tells of it, and the next one gives a new login.
  }
}

/** Errors that a restart cannot cure: the same input would fail the same way. */
const hopeless = new Set<number>([exitCodes.usage, exitCodes.config, exitCodes.conflict])

interface UpOptions {
  idleExit?: number
  controlOnly?: boolean
}

const argsOf = ({ idleExit, controlOnly }: UpOptions): string[] => [
  ...(idleExit === undefined ? [] : ['--idle-exit', String(idleExit)]),
  ...(controlOnly === true ? ['--roles', 'control'] : []),
]

/** An executor-only engine. An embedded store has one engine, which does everything. */
export const worker = async (io: Io): Promise<number> => {
  if ((io.environment.UNSTUCK_DATABASE_URL ?? '') === '')
    throw new AppError(
      'CONFIG_INVALID',
      'a worker shares a PostgreSQL store with other engines, and none is given; add --database-url or UNSTUCK_DATABASE_URL, or start a whole engine with "unstuck up"',
    )
  return superviseEngine(io, {}, ['--roles', 'executor'])
}

export const up = (io: Io, options: UpOptions): Promise<number> => superviseEngine(io, options, argsOf(options))

const superviseEngine = async (io: Io, options: UpOptions, args: string[]): Promise<number> => {
  const place = await placeOf(io)
  if ((await findEngine(place)) !== undefined) {
    throw new AppError(
      'ENGINE_RUNNING',
      `an engine already runs for ${repositoryName(place.repository)}; use it ("unstuck status"), or stop it with "unstuck stop"`,
    )
  }
  makeRoot(place)
  const crashes: number[] = []
  for (;;) {
    const child = startChild(io, place.repository.root, args)
    const stop = (): void => void child.kill('SIGTERM')
    io.signal.addEventListener('abort', stop, { once: true })
    const ended = endOf(child)
    const client = await waitReady(io, child)
    if (client !== undefined)
      line(
        io,
        `engine ready for ${repositoryName(place.repository)} (pid ${child.pid}); log: ${join(place.stateDir, 'engine.log')}`,
      )
    // An engine that another command started writes into a file, which is no place for a login.
    if (client !== undefined && options.idleExit === undefined) await showLogin(io, client)
    const { code, signal } = await ended
    io.signal.removeEventListener('abort', stop)
    if (io.signal.aborted || code === 0) return exitCodes.ok
    if (code !== null && hopeless.has(code)) return code
    const now = performance.now()
    crashes.push(now)
    while ((crashes[0] ?? now) < now - restartWindowMs) crashes.shift()
    const how = signal === null ? `with status ${code}` : `by ${signal}`
    if (crashes.length > restartLimit) {
      io.error(
        `unstuck: the engine ended ${crashes.length} times in 15 minutes, last ${how}; not restarted. See ${join(place.stateDir, 'engine.log')}, then "unstuck up" again.\n`,
      )
      return exitCodes.failed
    }
    io.error(`unstuck: the engine ended ${how}; restarting it (${crashes.length} of ${restartLimit})\n`)
  }
}

/** Prints a new one-time login; a resting engine is started for it. */
export const loginUrl = async (io: Io, options: { json?: boolean }): Promise<number> => {
  const { client } = await connect(io, { start: true })
  const login = await client.post<LoginUrl>('/login-codes')
  if (options.json === true) printJson(io, login)
  else line(io, login.url)
  return exitCodes.ok
}

/** The engine process. Ends with 0 when asked to. */
export const engine = async (io: Io, options: { idleExit?: number; roles?: string[] }): Promise<number> => {
  const roles = options.roles === undefined ? engineRoles : engineRoles.filter((role) => options.roles?.includes(role))
  const { serve } = await import('../../api/serve.ts')
  const served = await serve({
    root: io.cwd,
    environment: io.environment,
    version: io.version,
    roles,
    ...(options.idleExit === undefined ? {} : { idleExitMs: options.idleExit * 1000 }),
  })
  io.signal.addEventListener('abort', () => void served.stop(), { once: true })
  if (io.signal.aborted) await served.stop()
  await served.stopped
  return exitCodes.ok
}
