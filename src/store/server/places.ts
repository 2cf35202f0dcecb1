/** Where the embedded server of a user has its files. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { readRegularTextSync } from '../../platform/regular-file.ts'
import { findSocketFolder, longestSocketPath } from '../../platform/socket-folder.ts'
import { AppError } from '../../errors.ts'
import { makePrivate, type Account } from './account.ts'

/** Of one major version of PostgreSQL. */
export interface Places {
  folder: string
  data: string
  /** Of both roles; mode 0600. */
  password: string
  /** The identity of the postmaster that we started. */
  process: string
  /** Names the folder of the socket and, on a second line, the port in its name if that is not PostgreSQL's own. */
  socket: string
  log: string
}

export const placesIn = (folder: string): Places => ({
  folder,
  data: join(folder, 'data'),
  password: join(folder, 'password'),
  process: join(folder, 'process.json'),
  socket: join(folder, 'socket'),
  log: join(folder, 'log'),
})

/** `nobody` cannot enter the home folder of root, so its data are in the system's state folder, one folder for each home. */
const systemFolder = '/var/lib/unstuck'

const nameOf = (home: string): string => createHash('sha256').update(realpathSync(home)).digest('hex').slice(0, 12)

/** The folder that holds one folder for each major version. */
export const topOf = (home: string, account: Account): string => {
  const own = join(home, 'postgres')
  if (account.kind !== 'nobody') return own
  mkdirSync(home, { recursive: true, mode: 0o700 })
  mkdirSync(systemFolder, { recursive: true, mode: 0o755 })
  const top = join(systemFolder, nameOf(home))
  makePrivate(account, top)
  return top
}

/** The major versions of which there are data, the newest first. */
export const majorsIn = (top: string): number[] =>
  (existsSync(top) ? readdirSync(top) : [])
    .filter((name) => /^\d+$/.test(name) && existsSync(join(top, name, 'data')))
    .map(Number)
    .toSorted((one, other) => other - one)

/** Whether root ran the server of this home as `nobody` before. */
export const hasDataOfNobody = (home: string): boolean =>
  process.getuid?.() === 0 && existsSync(home) && majorsIn(join(systemFolder, nameOf(home))).length > 0

/** The folder of the socket: beside the data if its path is short enough. */
export const makeSocketFolder = (folder: string, account: Account, environment: NodeJS.ProcessEnv): string => {
  const found = findSocketFolder({
    ...{ beside: folder, name: '.s.PGSQL.5432', uid: account.uid },
    runtimeFolder: environment['XDG_RUNTIME_DIR'],
    make: (choice) => makePrivate(account, choice),
  })
  if (found.folder !== undefined) return found.folder
  throw new AppError(
    'PERMISSION',
    `the embedded PostgreSQL has no folder for its socket: ${found.tried.join(', ')} cannot be made, belong to another user, or have a path of more than ${longestSocketPath} bytes; set UNSTUCK_HOME to a shorter path that you own`,
  )
}

const read = (path: string): string => {
  try {
    return readRegularTextSync(path).trim()
  } catch {
    return '' // there is no server yet
  }
}

export interface Address {
  /** The folder of the socket. */
  socket: string
  /** Part of the socket's name. */
  port: string
  password: string
}

/** How to connect; undefined = there was never a server. */
export const readAddress = (places: Places): Address | undefined => {
  const [socket, password] = [read(places.socket), read(places.password)]
  const [folder = '', port = ''] = socket.split('\n')
  return folder === '' || password === '' ? undefined : { socket: folder, port: port || '5432', password }
}
