/**
 * A lock in the file system, held by a process. Its holder is identified by host, boot id, pid and start time. It is taken over only from a
 * holder that is proven dead, never because it is old: two holders would start two servers on the same data.
 */
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { readRegularTextSync } from '../../platform/regular-file.ts'
import { AppError } from '../../errors.ts'
import { identityOf, livenessOf, type ProcessIdentity } from '../../platform/process.ts'

export interface FileLock {
  release(): void
}

/**
 * A lock appears only when its content is complete, so an empty one lost its content, and its holder, in a power
 * failure. It is given an identity with an empty boot id, which no running machine has, so it counts as dead.
 */
const lostIdentity = (path: string): ProcessIdentity => {
  const { ino, mtimeMs } = statSync(path)
  return { host: hostname(), bootId: '', pid: 0, startTime: `${ino}-${mtimeMs}` }
}

/** Checks the types: a forged value becomes part of file names. */
const isIdentity = (value: unknown): value is ProcessIdentity => {
  if (typeof value !== 'object' || value === null) return false
  const { host, pid, startTime } = value as Partial<ProcessIdentity>
  return typeof host === 'string' && typeof pid === 'number' && typeof startTime === 'string'
}

const parsed = (text: string): ProcessIdentity | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isIdentity(value) ? value : undefined
  } catch {
    return undefined
  }
}

const readHolder = (path: string): ProcessIdentity | undefined => {
  try {
    return parsed(readRegularTextSync(path)) ?? lostIdentity(path)
  } catch {
    return undefined // removed in between: the next attempt to create it decides
  }
}

const same = (a: ProcessIdentity | undefined, b: ProcessIdentity): boolean =>
  a !== undefined && a.host === b.host && a.bootId === b.bootId && a.pid === b.pid && a.startTime === b.startTime

const markOf = (who: ProcessIdentity): string => `${who.pid}.${who.startTime.replace(/\W/g, '')}`

const draftOf = (path: string, me: ProcessIdentity): string => {
  const draft = `${path}.${markOf(me)}`
  const file = openSync(draft, 'w', 0o600)
  writeSync(file, JSON.stringify(me))
  fsyncSync(file)
  closeSync(file)
  return draft
}

/** Creates a complete lock or none: a crash between create and write would leave an owner that cannot be checked. */
const create = (path: string, me: ProcessIdentity): boolean => {
  const draft = draftOf(path, me)
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    // ENOENT: the winner of a race that has ended removed all guards, and our draft of a guard with them.
    if (['EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

const guardPrefix = (path: string): string => `${basename(path)}.heir-`

/**
 * The right to replace one dead holder: a separate lock (guard) named after it, so that only one of all racing
 * successors gets it. If the winner dies as well, the others race for the right to replace it, and so on. Undefined =
 * a live rival has the guard, or the race is over. If the guards form a circle, the folder is damaged: all rivals read
 * them in the same order, so they race for the next unused name.
 */
const winGuard = (path: string, holder: ProcessIdentity, me: ProcessIdentity): string | undefined => {
  const seen = new Set<string>()
  for (let dead: ProcessIdentity = holder; ;) {
    let guard = join(dirname(path), guardPrefix(path) + markOf(dead))
    // A process mark never contains this character.
    while (seen.has(guard)) guard += '+'
    seen.add(guard)
    if (create(guard, me)) return guard
    const rival = readHolder(guard)
    if (rival === undefined || livenessOf(rival) !== 'dead') return undefined
    dead = rival
  }
}

/** Guards matter only while their dead process holds the lock, which it never does again. */
const clearGuards = (path: string): void => {
  for (const name of readdirSync(dirname(path))) {
    if (name.startsWith(guardPrefix(path))) rmSync(join(dirname(path), name), { force: true })
  }
}

/**
 * Replaces a dead holder's lock in one rename, so that the lock is never missing and never held twice. The holder is
 * read again under the guard, because a rival may have finished before we got it.
 */
const replaceDead = (path: string, dead: ProcessIdentity, me: ProcessIdentity): boolean => {
  const guard = winGuard(path, dead, me)
  if (guard === undefined) return false
  if (!same(readHolder(path), dead)) {
    rmSync(guard, { force: true })
    return false
  }
  renameSync(draftOf(path, me), path)
  clearGuards(path)
  return true
}

/** The holder of a lock and whether it is alive; undefined = the lock is free. */
export const lockHolderOf = (
  path: string,
): { holder: ProcessIdentity; liveness: 'alive' | 'dead' | 'elsewhere' } | undefined => {
  const holder = readHolder(path)
  return holder === undefined ? undefined : { holder, liveness: livenessOf(holder) }
}

/**
 * How long a rival may take to take over, in milliseconds, and the step of waiting: on a busy machine it may be
 * suspended in the middle.
 */
const raceMs = 10_000
const stepMs = 5

const pause = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stepMs)

/**
 * Takes the lock, or throws `STORE_LOCKED` with the holder's pid and host. Blocks for up to `raceMs` while rivals race
 * for a dead holder's lock.
 */
export const takeFileLock = (path: string): FileLock => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const me = identityOf(process.pid)
  if (me === undefined) throw new Error('this process cannot read its own start time')
  const held: FileLock = { release: () => void (same(readHolder(path), me) && rmSync(path, { force: true })) }
  for (let attempt = 0; attempt < raceMs / stepMs; attempt += 1) {
    if (create(path, me)) return held
    const owner = lockHolderOf(path)
    if (owner === undefined) continue
    if (owner.liveness !== 'dead') {
      const where = owner.liveness === 'elsewhere' ? ` on host ${owner.holder.host}` : ''
      throw new AppError(
        'STORE_LOCKED',
        `process ${owner.holder.pid}${where} starts or stops the embedded PostgreSQL (${path}); wait until it has ended, then try again`,
      )
    }
    if (replaceDead(path, owner.holder, me)) return held
    pause()
  }
  throw new AppError('STORE_LOCKED', `several processes are trying to open ${path} at the same time; try again`)
}
