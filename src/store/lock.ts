/**
 * The owner lock beside a PGlite folder. Its holder is known by host, boot, pid and start time; it is taken over only from
 * a holder that is proven dead, never because it looks old: a stolen lock means two writers, and those lose rows silently.
 */
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { AppError } from '../errors.ts'
import { identityOf, livenessOf, type ProcessIdentity } from '../platform/process.ts'

export interface OwnerLock {
  release(): void
}

/**
 * A lock is linked only when it is complete, so one that names nobody lost its content in a power failure, and its holder with
 * it. The file stands for that holder then: no start-up of this machine has an empty name, so it counts as dead.
 */
const nobody = (path: string): ProcessIdentity => {
  const { ino, mtimeMs } = statSync(path)
  return { host: hostname(), bootId: '', pid: 0, startTime: `${ino}-${mtimeMs}` }
}

/** Of the right types: a forged one becomes a part of file names. */
const isIdentity = (value: unknown): value is ProcessIdentity => {
  if (typeof value !== 'object' || value === null) return false
  const { host, pid, startTime } = value as Partial<ProcessIdentity>
  return typeof host === 'string' && typeof pid === 'number' && typeof startTime === 'string'
}

/** Who holds the lock; one that only reads lets go of it within a moment. */
export type Holder = ProcessIdentity & { reading?: boolean }

const parsed = (text: string): Holder | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isIdentity(value) ? value : undefined
  } catch {
    return undefined
  }
}

const readHolder = (path: string): Holder | undefined => {
  try {
    return parsed(readFileSync(path, 'utf8')) ?? nobody(path)
  } catch {
    return undefined // gone in between: the next attempt to create it decides
  }
}

const same = (a: ProcessIdentity | undefined, b: ProcessIdentity): boolean =>
  a !== undefined && a.host === b.host && a.bootId === b.bootId && a.pid === b.pid && a.startTime === b.startTime

const markOf = (who: ProcessIdentity): string => `${who.pid}.${who.startTime.replace(/\W/g, '')}`

const draftOf = (path: string, me: Holder): string => {
  const draft = `${path}.${markOf(me)}`
  const file = openSync(draft, 'w', 0o600)
  writeSync(file, JSON.stringify(me))
  fsyncSync(file)
  closeSync(file)
  return draft
}

/** Creates a lock complete or not at all: a crash between create and write would leave an owner nobody can judge. */
const create = (path: string, me: Holder): boolean => {
  const draft = draftOf(path, me)
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    // Gone: the winner of a race that is over cleared away all guards, our draft of one among them.
    if (['EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

const guardPrefix = (path: string): string => `${basename(path)}.heir-`

/**
 * The right to replace one dead holder: a lock of its own, named after the dead one, so that of all racing successors one
 * has it. Its winner may die as well; then the right to replace that one is raced for, and so on. Undefined = a living
 * rival has it, or the race is over. Guards that lead back to one which was looked at come from no race but from a damaged
 * folder: every rival reads them in the same order, so the next name after them is raced for like any other.
 */
const winGuard = (path: string, holder: ProcessIdentity, me: Holder): string | undefined => {
  const seen = new Set<string>()
  for (let dead: ProcessIdentity = holder; ;) {
    let guard = join(dirname(path), guardPrefix(path) + markOf(dead))
    // No mark of a process has this character.
    while (seen.has(guard)) guard += '+'
    seen.add(guard)
    if (create(guard, me)) return guard
    const rival = readHolder(guard)
    if (rival === undefined || livenessOf(rival) !== 'dead') return undefined
    dead = rival
  }
}

/** Guards are worth something only while their dead one holds the lock, and it never does again. */
const clearGuards = (path: string): void => {
  for (const name of readdirSync(dirname(path))) {
    if (name.startsWith(guardPrefix(path))) rmSync(join(dirname(path), name), { force: true })
  }
}

/**
 * Puts our lock in the place of a dead holder's in one rename, so that the lock is never absent and never two processes'.
 * What stands there is read again under the guard: a rival may have finished before we won it.
 */
const replaceDead = (path: string, dead: ProcessIdentity, me: Holder): boolean => {
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

export const ownerOf = (path: string): { holder: Holder; liveness: 'alive' | 'dead' | 'elsewhere' } | undefined => {
  const holder = readHolder(path)
  return holder === undefined ? undefined : { holder, liveness: livenessOf(holder) }
}

/** A rival that is about to take over has this long, in small steps: on a busy machine it may lose its core in the middle. */
const raceMs = 10_000
const stepMs = 5

const pause = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stepMs)

export const takeOwnerLock = (path: string, reading = false): OwnerLock => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const identity = identityOf(process.pid)
  if (identity === undefined) throw new Error('this process cannot read its own start time')
  const me: Holder = reading ? { ...identity, reading } : identity
  const held: OwnerLock = { release: () => void (same(readHolder(path), me) && rmSync(path, { force: true })) }
  for (let attempt = 0; attempt < raceMs / stepMs; attempt += 1) {
    if (create(path, me)) return held
    const owner = ownerOf(path)
    if (owner === undefined) continue
    if (owner.liveness !== 'dead') {
      const where = owner.liveness === 'elsewhere' ? ` on host ${owner.holder.host}` : ''
      throw new AppError(
        'STORE_LOCKED',
        `process ${owner.holder.pid}${where} holds ${path}; use that engine (unstuck status), or stop it first`,
      )
    }
    if (replaceDead(path, owner.holder, me)) return held
    pause()
  }
  throw new AppError('STORE_LOCKED', `several processes fight over ${path}; try again`)
}
