/**
 * As whom the server runs. PostgreSQL refuses root, and users without a name; containers, CI and servers have both. There it runs in a user
 * namespace, in which this user has the number of an ordinary one; where the kernel allows none, root runs it as `nobody` with the data in
 * a folder of its own.
 */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { AppError } from '../../errors.ts'
import { programEnvironment, type Programs } from './postgres-programs.ts'

export type Account =
  | { kind: 'self'; uid: number | undefined }
  /** Commands are started through `unshare`; outside the files belong to this user. */
  | { kind: 'namespace'; uid: number }
  | { kind: 'nobody'; uid: number; gid: number }

/** The usual numbers of `nobody`; a user is never created. */
const nobody = { uid: 65_534, gid: 65_534 }

/** The number of this user inside a namespace. PostgreSQL's programs look its name up, so it must have one. */
const inside = (): number => {
  const users = existsSync('/etc/passwd') ? readFileSync('/etc/passwd', 'utf8').split('\n') : []
  const ids = users.flatMap((line) => Number.parseInt(line.split(':')[2] ?? '', 10) || [])
  return ids.includes(nobody.uid) ? nobody.uid : (ids[0] ?? nobody.uid)
}

const unshare = (): string[] => ['unshare', '--user', `--map-user=${inside()}`, `--map-group=${nobody.gid}`]

const hasNamespaces = (): boolean => {
  const [program = '', ...args] = unshare()
  return spawnSync(program, [...args, 'true'], { stdio: 'ignore', env: programEnvironment(undefined) }).status === 0
}

/** In a container the number of the user is often all there is. */
const hasName = (): boolean => {
  try {
    return userInfo().username !== ''
  } catch {
    return false
  }
}

export const nobodyAccount: Account = { kind: 'nobody', ...nobody }

export const chooseAccount = (): Account => {
  const uid = process.getuid?.()
  if (uid !== 0 && hasName()) return { kind: 'self', uid }
  if (hasNamespaces()) return { kind: 'namespace', uid: uid ?? 0 }
  return uid === 0 ? nobodyAccount : { kind: 'self', uid }
}

/** A command line as this account starts it. */
export const startedAs = (account: Account, command: readonly string[]): string[] =>
  account.kind === 'namespace' ? [...unshare(), ...command] : [...command]

/** Options of `spawn` that choose the user. */
export const userOf = (account: Account): { uid?: number; gid?: number } =>
  account.kind === 'nobody' ? { uid: account.uid, gid: account.gid } : {}

const runs = (account: Account, { bin, libraries }: Programs): boolean =>
  spawnSync(join(bin, 'postgres'), ['--version'], {
    stdio: 'ignore',
    cwd: '/',
    env: programEnvironment(libraries),
    ...userOf(account),
  }).status === 0

/** Lets every user read a copied tree, whatever the modes of its original. */
const openToAll = (path: string): void => {
  const { mode } = statSync(path)
  chmodSync(path, (mode & 0o100) === 0 ? 0o644 : 0o755)
  if (statSync(path).isDirectory()) for (const name of readdirSync(path)) openToAll(join(path, name))
}

/**
 * The programs that this account can run. A checkout below root's home folder is closed to `nobody`, so they are copied beside the data once
 * per version.
 */
export const readablePrograms = (account: Account, programs: Programs, folder: string): Programs => {
  if (account.kind !== 'nobody' || runs(account, programs)) return programs
  const copy = join(folder, `programs-${programs.major}`)
  if (!existsSync(copy)) {
    const draft = `${copy}.new`
    rmSync(draft, { recursive: true, force: true })
    cpSync(programs.top, draft, { recursive: true, verbatimSymlinks: true })
    for (const name of programs.libraries === undefined ? [] : readdirSync(programs.libraries))
      copyFileSync(join(programs.libraries ?? '', name), join(draft, 'lib', name))
    openToAll(draft)
    renameSync(draft, copy)
  }
  return { bin: join(copy, 'bin'), top: copy, major: programs.major }
}

/** Makes a folder that only this account, and root, can enter. */
export const makePrivate = (account: Account, folder: string): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (account.kind === 'nobody') chownSync(folder, account.uid, account.gid)
}

export const giveTo = (account: Account, path: string): void => {
  if (account.kind === 'nobody') lchownSync(path, account.uid, account.gid)
}

const ownerName = (uid: number): string => (uid === 0 ? 'root' : `the user with the number ${uid}`)

/** Throws PERMISSION where the data folder belongs to another user than the one as whom the server runs. */
export const checkOwner = ({ uid, kind }: Account, data: string): void => {
  const owner = statSync(data, { throwIfNoEntry: false })?.uid
  if (owner === undefined || uid === undefined || owner === uid) return
  const why =
    kind === 'nobody' && owner === 0
      ? 'this kernel allows no user namespaces any more, without which root cannot run PostgreSQL on its own files'
      : `the server would run as ${ownerName(uid)}`
  throw new AppError(
    'PERMISSION',
    `the data folder of the embedded PostgreSQL, ${data}, belongs to ${ownerName(owner)}, and ${why}; run Unstuck as its owner, or give the folder away with: chown -R ${uid} ${data}`,
  )
}
