/** The main process of the embedded server: whether it lives, how it is started, and how it is stopped. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readRegularTextSync } from '../../platform/regular-file.ts'
import { AppError } from '../../errors.ts'
import {
  identityOf,
  livenessOf,
  programNameOf,
  startTimeOf,
  workingFolderOf,
  type ProcessIdentity,
} from '../../platform/process.ts'
import { startedAs, userOf, type Account } from './account.ts'
import type { Places } from './places.ts'
import { programEnvironment, type Programs } from './postgres-programs.ts'

/** What is started, and as whom. */
export interface ServerLaunch {
  places: Places
  programs: Programs
  account: Account
  /** More settings, in tests; each overrides the one of the same name. */
  settings?: Readonly<Record<string, string>>
}

const recordOf = ({ process: path }: Places): ProcessIdentity | undefined => {
  try {
    return JSON.parse(readRegularTextSync(path)) as ProcessIdentity
  } catch {
    return undefined // there is none, or a power failure took its content together with the process
  }
}

const pidFileOf = ({ data }: Places): string => join(data, 'postmaster.pid')

/** The process that the pid file names; undefined = there is no file, or it is empty. */
const namedPid = (places: Places): number | undefined => {
  try {
    return Number.parseInt(readRegularTextSync(pidFileOf(places)), 10) || undefined
  } catch {
    return undefined
  }
}

/** Whether the main process of these data says that it accepts connections. It made its socket before. */
export const isReady = (places: Places): boolean => {
  try {
    return readRegularTextSync(pidFileOf(places)).split('\n')[7]?.trim() === 'ready'
  } catch {
    return false // it does not run
  }
}

/** Numbers of processes are used again, also for processes of other users, so a number alone proves nothing. */
const isServerOf = (places: Places, pid: number): boolean => {
  const recorded = recordOf(places)
  if (recorded?.pid === pid && livenessOf(recorded) === 'alive') return true
  if (process.platform === 'linux') return workingFolderOf(pid) === realpathSync(places.data)
  // macOS tells no working folder, so the program's name has to do.
  return recorded?.pid !== pid && programNameOf(pid).includes('postgres')
}

/** The live main process of these data. Throws STORE_LOCKED if it runs on another host that shares the folder. */
export const postmasterOf = (places: Places): number | undefined => {
  const pid = namedPid(places)
  if (pid === undefined) return undefined
  const recorded = recordOf(places)
  if (recorded?.pid === pid && livenessOf(recorded) === 'elsewhere')
    throw new AppError(
      'STORE_LOCKED',
      `the embedded PostgreSQL of ${places.folder} runs on host ${recorded.host}; stop it there ("unstuck stop --all"), or, if that host is gone, remove ${places.process}`,
    )
  return startTimeOf(pid) !== undefined && isServerOf(places, pid) ? pid : undefined
}

/**
 * Makes a lock file of a killed server name this process. PostgreSQL does not start while the process that the file names exists, even if
 * its number belongs to another program now or its parent has not collected it yet; but it ignores its own parent. Removing the file
 * would also remove the key of the shared memory, with which PostgreSQL notices that backends of the killed server still use the data.
 */
const disown = (path: string): void => {
  if (!existsSync(path)) return
  const [, ...rest] = readFileSync(path, 'utf8').split('\n')
  writeFileSync(path, [String(process.pid), ...rest].join('\n'))
}

/** What backends of a killed server say when they notice, perhaps after the new server has said why it does not start. */
const ofOrphans = /unexpected postmaster exit/

/** The last line that says what stopped a program of PostgreSQL. */
const causeIn = (output: string): string => {
  const lines = output
    .trim()
    .split('\n')
    .filter((line) => !ofOrphans.test(line))
  const cause = lines.findLast((line) => /\b(?:FATAL|PANIC|error):/.test(line)) ?? lines.at(-1) ?? ''
  return cause.replace(/^.*?\b(?:FATAL|PANIC|error):\s*/, '').trim() || 'it gave no reason'
}

const remedyFor = (output: string): string | undefined => {
  if (/No space left/i.test(output)) return 'free some space on that disk, then try again'
  if (/could not look up effective user ID/.test(output))
    return `PostgreSQL needs a name for this user, and no user namespace can be made here: add a line for the number ${process.getuid?.()} to /etc/passwd`
  return undefined
}

const failed = (what: string, places: Places, output: string): AppError => {
  const cause = causeIn(output)
  const next = remedyFor(output) ?? `see ${places.log}, then try again`
  return new AppError('STORE_UNAVAILABLE', `${what} in ${places.folder}: ${cause}; ${next}`)
}

/** Makes the data folder. It appears complete or not at all: a start that was killed in between begins anew. */
export const initialise = ({ places, programs, account }: ServerLaunch): void => {
  const drafts = `${basename(places.data)}.new`
  for (const name of readdirSync(places.folder).filter((each) => each.startsWith(drafts))) {
    try {
      rmSync(join(places.folder, name), { recursive: true, force: true })
    } catch {
      // Its program outlived the start that was killed, and still writes there; the next start that makes one removes it.
    }
  }
  // A name of its own: what such a program writes must not get into this one.
  const draft = join(places.folder, `${drafts}-${randomBytes(4).toString('hex')}`)
  const [program = '', ...args] = startedAs(account, [
    ...[join(programs.bin, 'initdb'), '-D', draft, '-U', 'unstuck', '--pwfile', places.password],
    ...['--auth=scram-sha-256', '--locale=C', '--encoding=UTF8', '--no-instructions', '--wal-segsize=4'],
    // A random password of 24 bytes cannot be guessed, so hashing it 4,096 times would only make each connection slower.
    ...['--set', 'scram_iterations=1'],
    // One flush of the file system instead of one for each of a thousand files.
    ...(process.platform === 'linux' && programs.major >= 17 ? ['--sync-method=syncfs'] : []),
  ])
  const made = spawnSync(program, args, {
    cwd: places.folder,
    env: programEnvironment(programs.libraries),
    encoding: 'utf8',
    ...userOf(account),
  })
  if (made.status !== 0)
    throw failed(
      'initdb could not create the embedded PostgreSQL',
      places,
      made.error?.message ?? made.stdout + made.stderr,
    )
  renameSync(draft, places.data)
}

/** Gives the owner of a stopped server another password, because the file with the old one was lost. */
export const setPassword = ({ places, programs, account }: ServerLaunch, password: string): void => {
  const [program = '', ...args] = startedAs(account, [
    join(programs.bin, 'postgres'),
    '--single',
    '-D',
    places.data,
    'postgres',
  ])
  const { status, stderr } = spawnSync(program, args, {
    cwd: places.folder,
    env: programEnvironment(programs.libraries),
    encoding: 'utf8',
    input: `alter role unstuck password '${password}';\ndrop role if exists unstuck_reader;\n`,
    ...userOf(account),
  })
  if (status !== 0) throw failed('the embedded PostgreSQL could not be given another password', places, stderr)
}

/** A server for small statements of a few programs, which must not be felt on the machine. */
const settings = (socket: string, major: number): Record<string, string> => ({
  listen_addresses: '',
  unix_socket_directories: socket,
  unix_socket_permissions: '0700',
  max_connections: '200',
  shared_buffers: '16MB',
  wal_buffers: '1MB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  min_wal_size: '32MB',
  max_wal_size: '256MB',
  max_worker_processes: '0',
  max_logical_replication_workers: '0',
  max_parallel_workers: '0',
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',
  jit: 'off',
  scram_iterations: '1',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
  // A client that was killed must not hold its locks until its statement ends.
  client_connection_check_interval: process.platform === 'linux' ? '1s' : '0',
  ...(major >= 18 ? { io_method: 'sync' } : {}),
})

const longestLog = 1024 * 1024

const openLog = ({ log }: Places): number => {
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) > longestLog) renameSync(log, `${log}.1`)
  return openSync(log, 'a', 0o600)
}

/** Starts the main process, which outlives this one. It may still end instead of answering. */
export const startPostmaster = async (launch: ServerLaunch, socket: string): Promise<ChildProcess> => {
  const { places, programs, account } = launch
  // The socket has such a file of its own.
  const port = launch.settings?.['port'] ?? '5432'
  for (const path of [pidFileOf(places), join(socket, `.s.PGSQL.${port}.lock`)]) disown(path)
  const all = { ...settings(socket, programs.major), ...launch.settings }
  const [program = '', ...args] = startedAs(account, [
    ...[join(programs.bin, 'postgres'), '-D', places.data],
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ])
  const log = openLog(places)
  const child = spawn(program, args, {
    cwd: places.folder,
    env: programEnvironment(programs.libraries),
    detached: true,
    stdio: ['ignore', log, log],
    ...userOf(account),
  })
  closeSync(log)
  if (child.pid === undefined) {
    const [error] = (await once(child, 'error')) as [Error]
    throw failed('the embedded PostgreSQL could not be started', places, error.message)
  }
  child.unref()
  writeFileSync(places.process, JSON.stringify(identityOf(child.pid) ?? null), { mode: 0o600 })
  return child
}

/** What the log says since `from`, its length before the start. */
export const startFailed = (places: Places, from: number): AppError =>
  failed(
    'the embedded PostgreSQL did not start',
    places,
    existsSync(places.log) ? readFileSync(places.log).subarray(from).toString() : '',
  )

export const logLength = ({ log }: Places): number => statSync(log, { throwIfNoEntry: false })?.size ?? 0

const stopMs = 30_000

/** Ends the server in order: it rolls back what is in progress and closes all connections. False = it did not run. */
export const stopPostmaster = async (places: Places): Promise<boolean> => {
  const pid = postmasterOf(places)
  if (pid === undefined) return false
  process.kill(pid, 'SIGINT')
  for (const began = performance.now(); postmasterOf(places) === pid; await delay(5))
    if (performance.now() - began > stopMs)
      throw new AppError(
        'STORE_UNAVAILABLE',
        `the embedded PostgreSQL (process ${pid}) does not stop; see ${places.log}, or end it with: kill -QUIT ${pid}`,
      )
  return true
}
