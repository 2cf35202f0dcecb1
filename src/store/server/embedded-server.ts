/**
 * The PostgreSQL server that a user's stores share. The first program that needs it starts it, and the last one to disconnect stops it. It
 * listens on a Unix socket only. Start and stop happen under a file lock, so that racing starters start it once; connecting needs no lock.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { readRegularTextSync } from '../../platform/regular-file.ts'
import { AppError, messageOf } from '../../errors.ts'
import { writeRemedy } from '../../platform/write-fault.ts'
import {
  checkOwner,
  chooseAccount,
  giveTo,
  makePrivate,
  nobodyAccount,
  readablePrograms,
  type Account,
} from './account.ts'
import { takeFileLock, type FileLock } from './file-lock.ts'
import {
  hasDataOfNobody,
  majorsIn,
  makeSocketFolder,
  placesIn,
  readAddress,
  topOf,
  type Address,
  type Places,
} from './places.ts'
import {
  initialise,
  logLength,
  setPassword,
  isReady,
  postmasterOf,
  startFailed,
  startPostmaster,
  stopPostmaster,
  type ServerLaunch,
} from './postmaster.ts'
import { findPrograms } from './postgres-programs.ts'
import { defined } from '../../domain/defined.ts'

/** `unstuck` owns everything; `unstuck_reader`, of commands that only read, can write nothing. */
export type DatabaseRole = 'unstuck' | 'unstuck_reader'

export interface ServerOptions {
  /** `$UNSTUCK_HOME` */
  home: string
  environment: NodeJS.ProcessEnv
  /** Replaces the account that suits this user, in tests. */
  account?: Account
  settings?: Readonly<Record<string, string>>
}

export interface EmbeddedServer {
  /** Of the data of all its major versions. */
  folder(): string
  /** Whether it was ever made. */
  hasData(): boolean
  /** Holds the password. Undefined until the server was started once. */
  url(role: DatabaseRole): string | undefined
  /** Returns when the server answers; starts it if it does not run. */
  start(): Promise<void>
  /** Stops the server unless another program uses it. `self` names our own connections. */
  leave(self: string): Promise<void>
  /** False = it did not run. */
  stop(): Promise<boolean>
}

const database = 'postgres'

const urlOf = ({ socket, password, port }: Address, role: DatabaseRole): string =>
  `postgresql://${role}:${encodeURIComponent(password)}@localhost:${port}/${database}?host=${encodeURIComponent(socket)}`

/** SQLSTATEs of a server that runs and refuses a connection. */
const tooManyConnections = '53300'
const wrongPassword = '28P01'

/** Names our connections and their process; any other name is a stranger's. */
export const connectionName = (): string => `unstuck-${randomBytes(6).toString('hex')}-${process.pid}`

const connected = async <T>(address: Address, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({
    connectionString: urlOf(address, 'unstuck'),
    application_name: connectionName(),
    connectionTimeoutMillis: 5_000,
  })
  client.on('error', () => undefined) // the next statement fails with it
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => undefined) // the connection is broken already
  }
}

/** Whether the server answers. One that starts, recovers from a crash or stops refuses connections until it has. */
const answers = async (places: Places): Promise<boolean> => {
  const address = readAddress(places)
  if (address === undefined) return false
  try {
    await connected(address, (client) => client.query('select 1'))
    return true
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === wrongPassword)
      throw new AppError(
        'CONFIG_INVALID',
        `the embedded PostgreSQL refuses the password in ${places.password}; remove that file, and the next command sets another password`,
      )
    return code === tooManyConnections
  }
}

/** Milliseconds; recovery after a crash reads the log of what was written since the last checkpoint. */
const startMs = 300_000
const pollMs = 10

/** Waits until the server answers. False = it has ended. */
const awaitAnswer = async (places: Places, isAlive: () => boolean): Promise<boolean> => {
  for (const began = performance.now(); ; await delay(pollMs)) {
    if (await answers(places)) return true
    if (!isAlive()) return false
    if (performance.now() - began > startMs)
      throw new AppError(
        'STORE_UNAVAILABLE',
        `the embedded PostgreSQL (process ${postmasterOf(places)}) does not answer for ${startMs / 1000} s; see ${places.log}, or end it with: kill -QUIT ${postmasterOf(places)}`,
      )
  }
}

const writePrivate = (account: Account, path: string, text: string): void => {
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  giveTo(account, `${path}.new`)
  renameSync(`${path}.new`, path)
}

const prepareFolder = (launch: ServerLaunch, environment: NodeJS.ProcessEnv): string => {
  const { account, places } = launch
  const socket = makeSocketFolder(places.folder, account, environment)
  writePrivate(account, places.socket, `${socket}\n${launch.settings?.['port'] ?? ''}`)
  const password = randomBytes(24).toString('base64url')
  if (!existsSync(places.data)) {
    writePrivate(account, places.password, password)
    initialise(launch)
  } else if (readAddress(places) === undefined) {
    // The file comes last: a start that is killed in between finds none, and sets another password.
    setPassword(launch, password)
    writePrivate(account, places.password, password)
  }
  return socket
}

const checkVersion = ({ data }: Places, major: number): void => {
  const path = join(data, 'PG_VERSION')
  const found = existsSync(path) ? readRegularTextSync(path).trim() : 'none'
  if (found !== String(major))
    throw new AppError(
      'STORE_VERSION',
      `${data} is not a data folder of PostgreSQL ${major} (its PG_VERSION: ${found}); move it back to where it belongs, or move it away to begin with an empty store`,
    )
}

/** Idempotent, because a start may be killed between the two. */
const makeReader = (password: string): string => `do $$ begin
  if not exists (select from pg_roles where rolname = 'unstuck_reader') then
    create role unstuck_reader login password '${password}' in role pg_read_all_data, pg_monitor;
  end if;
end $$`

const launchServer = async (launch: ServerLaunch, environment: NodeJS.ProcessEnv): Promise<void> => {
  const { places } = launch
  checkOwner(launch.account, places.data)
  const socket = prepareFolder(launch, environment)
  checkVersion(places, launch.programs.major)
  const from = logLength(places)
  const child = await startPostmaster(launch, socket)
  if (!(await awaitAnswer(places, () => child.exitCode === null && child.signalCode === null)))
    throw startFailed(places, from)
  const address = readAddress(places)
  if (address !== undefined) await connected(address, (client) => client.query(makeReader(address.password)))
}

const lockMs = 330_000

/** Waits while another process starts or stops the server. */
const withLock = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
  let lock: FileLock | undefined
  for (const began = performance.now(); lock === undefined; await delay(pollMs)) {
    try {
      lock = takeFileLock(path)
      break
    } catch (error) {
      if (performance.now() - began > lockMs || (error as AppError).code !== 'STORE_LOCKED') throw error
    }
  }
  try {
    return await work()
  } finally {
    lock.release()
  }
}

const others = `select count(*)::int as count from pg_stat_activity
  where backend_type = 'client backend' and pid <> pg_backend_pid() and application_name <> $1`

type Host = Omit<ServerOptions, 'account'> & { account: () => Account }

const topFolder = ({ home, account }: Host): string => topOf(home, account())

/** Where there are data already, without asking for programs. */
const existingPlaces = (host: Host): Places | undefined => {
  const top = topFolder(host)
  const [major] = majorsIn(top)
  return major === undefined ? undefined : placesIn(join(top, String(major)))
}

const launchOn = (host: Host): ServerLaunch => {
  const { home, environment, settings } = host
  const [top, account] = [topFolder(host), host.account()]
  const [major] = majorsIn(top)
  const linksIn = join(home, 'postgres', 'libraries')
  const found = findPrograms({ folder: top, major, path: environment['PATH'] ?? '', linksIn })
  const places = placesIn(join(top, String(found.major)))
  makePrivate(account, top)
  makePrivate(account, places.folder)
  const programs = readablePrograms(account, found, places.folder)
  return { places, programs, account, ...defined({ settings }) }
}

const withServerLock = <T>(host: Host, work: () => Promise<T>): Promise<T> => {
  const top = topFolder(host)
  mkdirSync(top, { recursive: true, mode: 0o700 })
  return withLock(join(top, 'lock'), work)
}

const isUp = async (host: Host): Promise<boolean> => {
  const places = existingPlaces(host)
  if (places === undefined) return false
  if (await answers(places)) return true
  const pid = postmasterOf(places)
  // It starts, recovers or stops, or the process that started it died before it answered.
  return pid !== undefined && awaitAnswer(places, () => postmasterOf(places) === pid)
}

/** How long backends of a killed server may end what they do, in milliseconds: longer than a statement may take. */
const orphansMs = 40_000

/** Backends notice soon that their server was killed, but one in the middle of a computation keeps the data until it ends. */
const launchPastOrphans = async (host: Host): Promise<void> => {
  for (const began = performance.now(); ; await delay(200)) {
    try {
      return await launchServer(launchOn(host), host.environment)
    } catch (error) {
      const isHeld = (error as Error).message.includes('shared memory block')
      if (!isHeld || performance.now() - began > orphansMs) throw error
    }
  }
}

const nameFault = (host: Host, error: unknown): unknown => {
  const remedy = writeRemedy(error)
  if (remedy === undefined) return error
  return new AppError(
    'STORE_UNAVAILABLE',
    `the embedded PostgreSQL cannot start in ${join(host.home, 'postgres')}: ${remedy} (${messageOf(error)})`,
  )
}

/**
 * Whether the server is beyond reach. Either its password file is lost, and the next start sets a new password; or its socket is gone. A
 * cleaner of /tmp may delete a socket, and so does an older server at the same path when it finds that its data folder was deleted.
 */
const isUnreachable = (places: Places): boolean => {
  const address = readAddress(places)
  if (address === undefined) return true
  return isReady(places) && !existsSync(join(address.socket, `.s.PGSQL.${address.port}`))
}

const startIfDown = async (host: Host): Promise<void> => {
  const places = existingPlaces(host)
  if (places !== undefined && (await answers(places))) return
  await withServerLock(host, async () => {
    const found = existingPlaces(host)
    if (found !== undefined && isUnreachable(found)) await stopPostmaster(found)
    if (!(await isUp(host))) await launchPastOrphans(host)
  })
}

/** Undefined = it cannot be asked, because it does not run or has no connection left. */
const othersOn = async (places: Places, self: string): Promise<number | undefined> => {
  const address = readAddress(places)
  if (address === undefined) return undefined
  return connected(
    address,
    async (client) => (await client.query<{ count: number }>(others, [self])).rows[0]?.count,
  ).catch(() => undefined)
}

const leave = (host: Host, self: string): Promise<void> =>
  withServerLock(host, async () => {
    const places = existingPlaces(host)
    if (places !== undefined && (await othersOn(places, self)) === 0) await stopPostmaster(places)
  })

const stop = (host: Host): Promise<boolean> =>
  withServerLock(host, async () => {
    const places = existingPlaces(host)
    return places !== undefined && (await stopPostmaster(places))
  })

export const serverOf = (options: ServerOptions): EmbeddedServer => {
  let chosen = options.account
  // Data that `nobody` owns stay in use when this kernel allows namespaces later: an empty store must not begin beside them.
  const choose = (): Account => (hasDataOfNobody(options.home) ? nobodyAccount : chooseAccount())
  const host: Host = { ...options, account: () => (chosen ??= choose()) }
  return {
    folder: () => topFolder(host),
    hasData: () => existingPlaces(host) !== undefined,
    url: (role) => {
      const places = existingPlaces(host)
      const address = places && readAddress(places)
      return address && urlOf(address, role)
    },
    start: () =>
      startIfDown(host).catch((error: unknown) => {
        throw nameFault(host, error)
      }),
    leave: (self) => leave(host, self),
    stop: () => stop(host),
  }
}
