/**
 * The settings of the owner while an engine runs: read again at each use, so that a change that allows less applies at once. A change
 * that allows more is taken over by `refresh`, or waits for a person while an agent could have made it. What is not valid changes nothing.
 */
import type { ListEntry } from '../../config/config-edit.ts'
import type { Config } from '../../config/config.ts'
import type { SettingChange } from '../../domain/config-change.ts'
import { AppError } from '../../errors.ts'
import type { OwnPlaybooks } from '../../recovery/own/own-playbook.ts'
import type { PolicyRecovery } from '../../recovery/policy/recovery-policy.ts'
import {
  configStateAt,
  saveConfigState,
  type ConfigState,
  type ShownChange,
  type WaitingChange,
} from '../../store/config-state.ts'
import { StaleError, type Db, type Queryable } from '../../store/db.ts'
import { appendEvent, storeNow } from '../../store/event.ts'
import { liveGoalIds } from '../../store/goal.ts'
import type { VerifyContract } from '../checks/verify-contract.ts'
import {
  createNarrowed,
  createReadAll,
  defaultsOf,
  settingsDigest,
  settingsBetween,
  narrowedFiles,
  readKept,
  widenings,
  withApproved,
  withFrozen,
  type Owned,
  type OwnerFiles,
  type ReadAll,
} from './owner-files.ts'

export interface SettingsParts {
  files: OwnerFiles
  db: Db
  place: string
  /** The texts of settings that are or were in use, by digest. `read`: undefined = it is not there, or not readable. */
  kept: {
    read: (digest: string) => string | undefined
    write: (digest: string, text: string) => void
    /** Removes all but this one. */
    prune: (digest: string) => void
  }
  /** Whether an agent, or a program of its choice, could have changed the files itself since then; undefined = at this moment. */
  couldWrite: (db: Queryable, since: Date | undefined) => Promise<boolean>
  /** Keys of the configuration that stay as they are while goals that use them run. */
  frozenKeys: (db: Queryable, inUse: Config) => Promise<string[]>
  /** Replaces secrets in the text of a value. */
  redact: (text: string) => string
  /** Takes what this start of the engine sets itself (command line, environment) over into settings that were kept. */
  given: (kept: Config, now: Config) => Config
  /** Milliseconds of a clock that only goes forward. */
  now: () => number
}

const secretKey = /secret|token|password|passphrase|api_?key/i
const shown = (value: unknown): string => (value === undefined ? '(none)' : JSON.stringify(value))

const shownChange =
  (redact: (text: string) => string) =>
  ({ key, before, after }: SettingChange): ShownChange => {
    const text = (value: unknown): string => (secretKey.test(key) ? '[redacted]' : redact(shown(value)))
    return { key, before: text(before), after: text(after) }
  }

export interface OwnerSettings {
  config: () => Config
  pathPolicy: () => PolicyRecovery
  contract: () => VerifyContract
  playbooks: () => OwnPlaybooks
  /** Takes over what changed and may be; records it. */
  refresh: () => Promise<void>
  /** Confirms the change with this digest. Throws STALE if another one waits, ILLEGAL if none does. */
  confirm: (digest: string) => Promise<WaitingChange>
  /** A person answered that a list of the file that is written now gets this entry: it does not wait. */
  approve: (entry: ListEntry) => void
}

interface Held {
  parts: SettingsParts
  readAll: ReadAll
  /** In use, but for what a file allows less since. */
  accepted: Owned
  /** As stored. */
  state: ConfigState
  /** The frozen settings that were reported. */
  frozenReported: string
  /** When the files were last read by a pass that was not interrupted. */
  readAt: Date | undefined
  /** Entries that a person added by an answer since then. */
  approved: ListEntry[]
  /** In use before a file was gone for so long that the defaults apply; it is no change that allows more when it returns as it was. */
  beforeAbsence: Owned | undefined
}

/**
 * The settings that were in use before. At the first start they are those of the files. Where they are lost, nothing beyond the
 * defaults is in use until the first pass has decided about it: the files can contain a change that waits.
 */
const settingsBefore = (parts: SettingsParts, state: ConfigState | undefined, now: Owned): Owned => {
  if (state === undefined) return now
  const text = parts.kept.read(state.accepted)
  const kept = text === undefined || settingsDigest(text) !== state.accepted ? undefined : readKept(text)
  const before = kept ?? defaultsOf(now)
  return { ...before, config: parts.given(before.config, now.config) }
}

const load = async (parts: SettingsParts, readAll: ReadAll): Promise<Pick<Held, 'state' | 'accepted'>> => {
  const { db, place } = parts
  const before = await configStateAt(db, place)
  const state = before ?? { place, waiting: null, rejected: [], granted: [], accepted: '', version: 0 }
  return { state, accepted: settingsBefore(parts, before, readAll().read) }
}

/**
 * The text first, under a name of its own: after a crash before the commit the settings that the store names are still there. Settings
 * whose digest the store does not know are not trusted after a restart.
 */
const save = async (
  held: Held,
  next: Owned,
  change: Partial<ConfigState>,
  events: (tx: Queryable) => Promise<void>,
): Promise<void> => {
  const { db, kept } = held.parts
  const text = JSON.stringify(next)
  const saved = { ...held.state, ...change, accepted: settingsDigest(text) }
  const isNew = saved.accepted !== held.state.accepted
  if (isNew) kept.write(saved.accepted, text)
  await db.transaction(async (tx) => {
    if (!(await saveConfigState(tx, saved))) throw new StaleError(`the settings of ${saved.place} changed meanwhile`)
    await events(tx)
  })
  Object.assign(held, { state: { ...saved, version: saved.version + 1 }, accepted: next })
  if (isNew) kept.prune(saved.accepted)
}

/** Once for each goal that has not ended, so that its story and its exported log tell it; without such a goal, once. */
const tellGoals = async (tx: Queryable, tell: (goalId: string | null) => Promise<void>): Promise<void> => {
  const live = await liveGoalIds(tx)
  for (const goalId of live.length === 0 ? [null] : live) await tell(goalId)
}

/** Only in the event: what a person confirms is shown whole. */
const shortened = (text: string): string => (text.length > 300 ? `${text.slice(0, 300)}…` : text)

const reloaded = async (tx: Queryable, changes: ShownChange[], frozen: string[]): Promise<void> => {
  if (changes.length === 0 && frozen.length === 0) return
  const told = changes.map(({ key, before, after }) => ({ key, before: shortened(before), after: shortened(after) }))
  const payload = { keys: changes.map(({ key }) => key), changes: told, ...(frozen.length > 0 && { frozen }) }
  await tellGoals(tx, (goalId) => appendEvent(tx, { type: 'config.reloaded', goalId, payload }))
}

const recordProblems = async (held: Held, problems: string[]): Promise<void> => {
  if (settingsDigest(problems) === settingsDigest(held.state.rejected)) return
  const fresh = problems.filter((problem) => !held.state.rejected.includes(problem))
  await save(held, held.accepted, { rejected: problems }, async (tx) => {
    for (const problem of fresh)
      await tellGoals(tx, (goalId) => appendEvent(tx, { type: 'config.rejected', goalId, payload: { problem } }))
  })
}

interface Compared {
  held: Held
  read: Owned
  /** In use, with what a person approved since. */
  base: Owned
}

/** Widening changes that no person has confirmed yet. */
const undecided = ({ state, beforeAbsence }: Held, from: Owned, to: Owned): SettingChange[] => {
  const more = beforeAbsence === undefined ? undefined : widenings(beforeAbsence, to).map(({ key }) => key)
  return widenings(from, to).filter(
    (change) => !state.granted.includes(settingsDigest(change)) && (more === undefined || more.includes(change.key)),
  )
}

/** Applies what allows less and keeps the rest back. */
const hold = async ({ held, base, read }: Compared): Promise<void> => {
  const next = narrowedFiles(base, read)
  const more = undecided(held, next, read)
  const waiting = { digest: settingsDigest(more), changes: more.map(shownChange(held.parts.redact)) }
  const changes = settingsBetween(held.accepted, next).map(shownChange(held.parts.redact))
  const isNew = held.state.waiting?.digest !== waiting.digest
  if (changes.length === 0 && !isNew) return
  await save(held, next, { waiting }, async (tx) => {
    await reloaded(tx, changes, [])
    if (!isNew) return
    const payload = { keys: more.map(({ key }) => key), digest: waiting.digest }
    await tellGoals(tx, (goalId) => appendEvent(tx, { type: 'config.waiting', goalId, payload }))
  })
}

const nothing = async (): Promise<void> => undefined

/** Applies all but what is frozen; that is applied by a later pass, without a new question. */
const take = async (held: Held, read: Owned, also: (tx: Queryable) => Promise<void> = nothing): Promise<void> => {
  const { db, frozenKeys } = held.parts
  const { kept, frozen } = withFrozen(held.accepted, read, await frozenKeys(db, held.accepted.config))
  const granted = widenings(kept, read).map(settingsDigest)
  const changes = settingsBetween(held.accepted, kept).map(shownChange(held.parts.redact))
  const isReported = frozen.join() === held.frozenReported
  held.frozenReported = frozen.join()
  const isSame = changes.length === 0 && granted.join() === held.state.granted.join()
  if (isSame && isReported && held.state.waiting === null && held.state.accepted !== '') return
  await save(held, kept, { waiting: null, granted }, async (tx) => {
    await also(tx)
    await reloaded(tx, changes, isReported ? [] : frozen)
  })
}

const decide = async (compared: Compared): Promise<void> => {
  const { held, base, read } = compared
  const { state, accepted, parts } = held
  if (settingsDigest(read) === settingsDigest(accepted) && state.waiting === null && state.accepted !== '') return
  const widens = undecided(held, base, read).length > 0
  // While something waits, nothing that allows more slips in behind it.
  if (widens && (state.waiting !== null || (await parts.couldWrite(parts.db, held.readAt)))) return hold(compared)
  return take(held, read)
}

const pass = async (held: Held): Promise<void> => {
  const readAt = await storeNow(held.parts.db)
  const approved = [...held.approved]
  const { read, problems, absent } = held.readAll(held.accepted)
  await recordProblems(held, problems)
  if (absent.some(({ isKept }) => !isKept)) held.beforeAbsence ??= held.accepted
  await decide({ held, read, base: withApproved(held.accepted, read, approved) })
  // Only now: a pass that failed has decided nothing about the time since the one before.
  Object.assign(held, { readAt, approved: held.approved.filter((entry) => !approved.includes(entry)) })
  if (absent.length === 0) held.beforeAbsence = undefined
}

const confirm = async (held: Held, digest: string): Promise<WaitingChange> => {
  await pass(held)
  const { waiting } = held.state
  const { read } = held.readAll(held.accepted)
  if (waiting === null)
    throw new AppError('ILLEGAL', 'no change of the configuration waits; "unstuck status" shows what does')
  if (waiting.digest !== digest || settingsDigest(undecided(held, held.accepted, read)) !== digest)
    throw new AppError(
      'STALE',
      'the change is no longer the one that was shown; look at it again with "unstuck config confirm"',
    )
  const keys = waiting.changes.map(({ key }) => key)
  await take(held, read, (tx) =>
    tellGoals(tx, (goalId) => appendEvent(tx, { type: 'config.confirmed', goalId, payload: { keys, digest } })),
  )
  return waiting
}

/** What another process with this state folder has stored since counts, so the work is done again on that. */
const onNewest = async <T>(held: Held, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof StaleError)) throw error
    Object.assign(held, await load(held.parts, held.readAll))
    return work()
  }
}

/** One at a time: two passes would record the same change twice. */
const queue = () => {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work, work)
    last = next
    return next
  }
}

export const openOwnerSettings = async (parts: SettingsParts): Promise<OwnerSettings> => {
  const readAll = createReadAll(parts.files, parts.now)
  const loaded = await load(parts, readAll)
  const held: Held = {
    parts,
    readAll,
    ...loaded,
    frozenReported: '',
    readAt: undefined,
    approved: [],
    beforeAbsence: undefined,
  }
  const [narrowed, inTurn] = [createNarrowed(), queue()]
  const inForce = (): Owned => narrowed(held.accepted, readAll(held.accepted).read)
  return {
    config: () => inForce().config,
    pathPolicy: () => inForce()['policy-recovery'],
    contract: () => inForce()['verify.contract'],
    playbooks: () =>
      Object.fromEntries(
        Object.entries(inForce().playbook).flatMap(([name, [playbook]]) =>
          playbook === undefined ? [] : [[name, playbook]],
        ),
      ),
    refresh: () => inTurn(() => onNewest(held, () => pass(held))),
    confirm: (digest) => inTurn(() => onNewest(held, () => confirm(held, digest))),
    approve: (entry) => held.approved.push(entry),
  }
}
