/**
 * The settings of the owner while an engine runs: read again at each use, so that a change that allows less applies at once. A change
 * that allows more is taken over by `refresh`, or waits for a person while an agent could have made it. What is not valid changes nothing.
 */
import { createHash } from 'node:crypto'
import type { Config } from '../../config.ts'
import { narrowedSettings, settingChanges, type SettingChange } from '../../domain/config-change.ts'
import { AppError, messageOf } from '../../errors.ts'
import type { PolicyRecovery } from '../../recovery/policy/recovery-policy.ts'
import { configStateAt, saveConfigState, type ConfigState, type WaitingChange } from '../../store/config-state.ts'
import type { Db, Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import type { VerifyContract } from '../checks/verify-contract.ts'

/** Each reader throws CONFIG_INVALID with file, key and reason. */
export interface OwnerFiles {
  config: () => Config
  policy: () => PolicyRecovery
  /** Undefined = there is no contract. */
  contract: () => VerifyContract | undefined
}

/** Under the names of the files, so that a key names its file. */
interface Owned {
  config: Config
  'policy-recovery': PolicyRecovery
  'verify.contract': VerifyContract
}

export interface SettingsParts {
  files: OwnerFiles
  db: Db
  place: string
  /** The settings in use as they were kept over a restart; undefined = none, or not readable. */
  kept: { read: () => string | undefined; write: (text: string) => void }
  /** Whether an agent runs that could have changed the files itself. */
  couldWrite: (db: Queryable) => Promise<boolean>
  /** Names of the harnesses that running runs use. */
  inUse: (db: Queryable) => Promise<string[]>
  /** Replaces secrets in the text of a value. */
  redact: (text: string) => string
  /** Takes what this start of the engine sets itself (command line, environment) over into settings that were kept. */
  given: (kept: Config, now: Config) => Config
}

const flat = ({ config, ...files }: Owned): object => ({ ...config, ...files })
const narrowedFiles = (before: Owned, after: Owned): Owned => ({
  config: narrowedSettings(before.config, after.config),
  'policy-recovery': narrowedSettings(before['policy-recovery'], after['policy-recovery'], 'policy-recovery'),
  'verify.contract': narrowedSettings(before['verify.contract'], after['verify.contract'], 'verify.contract'),
})
const digestOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex')

const secretKey = /secret|token|password|passphrase|api_?key/i
const shown = (value: unknown): string => (value === undefined ? '(none)' : JSON.stringify(value))

const shownChange =
  (redact: (text: string) => string) =>
  ({ key, before, after }: SettingChange) => {
    const text = (value: unknown): string => (secretKey.test(key) ? '[redacted]' : redact(shown(value)))
    return { key, before: text(before), after: text(after) }
  }

const widenings = (before: Owned, after: Owned): SettingChange[] =>
  settingChanges(flat(before), flat(after)).filter(({ direction }) => direction === 'widening')

/** What a running run uses stays as it is until the run ends: its harness. */
const withFrozen = (before: Owned, after: Owned, names: readonly string[]): { kept: Owned; frozen: string[] } => {
  const [old, now] = [before.config.harness, after.config.harness]
  const changed = names.filter(
    (name) => old.named[name] !== undefined && digestOf(old.named[name]) !== digestOf(now.named[name] ?? null),
  )
  if (changed.length === 0) return { kept: after, frozen: [] }
  const named = {
    ...now.named,
    ...Object.fromEntries(changed.map((name) => [name, old.named[name]])),
  } as Config['harness']['named']
  return {
    kept: { ...after, config: { ...after.config, harness: { ...now, named } } },
    frozen: changed.map((name) => `harness.${name}`),
  }
}

/** Reads all files; of one that is not valid the part in use stays. */
const reader = (files: OwnerFiles) => {
  const part = <T>(read: () => T, before: T | undefined, problems: string[]): T => {
    try {
      return read()
    } catch (error) {
      if (before === undefined) throw error
      problems.push(messageOf(error))
      return before
    }
  }
  return (before?: Owned): { read: Owned; problems: string[] } => {
    const problems: string[] = []
    const read = {
      config: part(files.config, before?.config, problems),
      'policy-recovery': part(files.policy, before?.['policy-recovery'], problems),
      'verify.contract': part(() => files.contract() ?? {}, before?.['verify.contract'], problems),
    }
    return { read, problems }
  }
}

/** Equal settings stay the same object, so that what depends on them is computed once. */
const remembered = () => {
  let last: { key: string; value: Owned } | undefined
  return (key: string, make: () => Owned): Owned => {
    if (last?.key !== key) last = { key, value: make() }
    return last.value
  }
}

export interface OwnerSettings {
  config: () => Config
  pathPolicy: () => PolicyRecovery
  contract: () => VerifyContract
  /** Takes over what changed and may be; records it. */
  refresh: () => Promise<void>
  /** Confirms the change with this digest. Throws STALE if another one waits, ILLEGAL if none does. */
  confirm: (digest: string) => Promise<WaitingChange>
}

/** The settings that were in use before, if the store knows them by their digest; else those that the files have now. */
const keptSettings = (parts: SettingsParts, state: ConfigState | undefined, now: Owned): Owned => {
  const text = parts.kept.read()
  if (text === undefined || state === undefined || digestOf(text) !== state.accepted) return now
  const kept = JSON.parse(text) as Owned
  return { ...kept, config: parts.given(kept.config, now.config) }
}

interface Held {
  parts: SettingsParts
  readAll: ReturnType<typeof reader>
  /** In use, but for what a file allows less since. */
  accepted: Owned
  /** As stored. */
  state: ConfigState
  /** The frozen settings that were reported. */
  frozenTold: string
}

/** The text first: settings whose digest the store does not know are not trusted after a restart. */
const save = async (
  held: Held,
  next: Owned,
  change: Partial<ConfigState>,
  events: (tx: Queryable) => Promise<void>,
): Promise<void> => {
  const text = JSON.stringify(next)
  const saved = { ...held.state, ...change, accepted: digestOf(text) }
  if (saved.accepted !== held.state.accepted) held.parts.kept.write(text)
  await held.parts.db.transaction(async (tx) => {
    await saveConfigState(tx, saved)
    await events(tx)
  })
  Object.assign(held, { state: saved, accepted: next })
}

const reloaded = async (tx: Queryable, keys: string[], frozen: string[]): Promise<void> => {
  if (keys.length > 0 || frozen.length > 0)
    await appendEvent(tx, { type: 'config.reloaded', payload: { keys, ...(frozen.length > 0 && { frozen }) } })
}

const keysBetween = (from: Owned, to: Owned): string[] => settingChanges(flat(from), flat(to)).map(({ key }) => key)

const recordProblems = async (held: Held, problems: string[]): Promise<void> => {
  if (digestOf(problems) === digestOf(held.state.rejected)) return
  const fresh = problems.filter((problem) => !held.state.rejected.includes(problem))
  await save(held, held.accepted, { rejected: problems }, async (tx) => {
    for (const problem of fresh) await appendEvent(tx, { type: 'config.rejected', payload: { problem } })
  })
}

/** Applies what allows less and keeps the rest back. */
const hold = async (held: Held, read: Owned): Promise<void> => {
  const next = narrowedFiles(held.accepted, read)
  const more = widenings(next, read)
  const waiting = { digest: digestOf(more), changes: more.map(shownChange(held.parts.redact)) }
  const keys = keysBetween(held.accepted, next)
  const isNew = held.state.waiting?.digest !== waiting.digest
  if (keys.length === 0 && !isNew) return
  await save(held, next, { waiting }, async (tx) => {
    await reloaded(tx, keys, [])
    if (!isNew) return
    const payload = { keys: more.map(({ key }) => key), digest: waiting.digest }
    await appendEvent(tx, { type: 'config.waiting', payload })
  })
}

const nothing = async (): Promise<void> => undefined

const take = async (held: Held, read: Owned, also: (tx: Queryable) => Promise<void> = nothing): Promise<void> => {
  const { kept, frozen } = withFrozen(held.accepted, read, await held.parts.inUse(held.parts.db))
  const keys = keysBetween(held.accepted, kept)
  const told = frozen.join() === held.frozenTold
  held.frozenTold = frozen.join()
  if (keys.length === 0 && told && held.state.waiting === null && held.state.accepted !== '') return
  await save(held, kept, { waiting: null }, async (tx) => {
    await also(tx)
    await reloaded(tx, keys, told ? [] : frozen)
  })
}

const pass = async (held: Held): Promise<void> => {
  const { read, problems } = held.readAll(held.accepted)
  await recordProblems(held, problems)
  const { state, accepted, parts } = held
  if (digestOf(read) === digestOf(accepted) && state.waiting === null && state.accepted !== '') return
  const widens = widenings(accepted, read).length > 0
  // While something waits, nothing that allows more slips in behind it.
  if (widens && (state.waiting !== null || (await parts.couldWrite(parts.db)))) return hold(held, read)
  return take(held, read)
}

const confirm = async (held: Held, digest: string): Promise<WaitingChange> => {
  await pass(held)
  const { waiting } = held.state
  const { read } = held.readAll(held.accepted)
  if (waiting === null)
    throw new AppError('ILLEGAL', 'no change of the configuration waits; "unstuck status" shows what does')
  if (waiting.digest !== digest || digestOf(widenings(held.accepted, read)) !== digest)
    throw new AppError(
      'STALE',
      'the change is no longer the one that was shown; look at it again with "unstuck config confirm"',
    )
  const keys = waiting.changes.map(({ key }) => key)
  await take(held, read, (tx) => appendEvent(tx, { type: 'config.confirmed', payload: { keys, digest } }))
  return waiting
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
  const { db, place } = parts
  const readAll = reader(parts.files)
  const before = await configStateAt(db, place)
  const state: ConfigState = { waiting: null, rejected: [], accepted: '', ...before, place }
  const held: Held = { parts, readAll, state, accepted: keptSettings(parts, before, readAll().read), frozenTold: '' }
  const [remember, inTurn] = [remembered(), queue()]
  const inForce = (): Owned => {
    const { accepted } = held
    const { read } = readAll(accepted)
    const same = digestOf(read) === digestOf(accepted)
    return remember(digestOf([accepted, read]), () => (same ? accepted : narrowedFiles(accepted, read)))
  }
  return {
    config: () => inForce().config,
    pathPolicy: () => inForce()['policy-recovery'],
    contract: () => inForce()['verify.contract'],
    refresh: () => inTurn(() => pass(held)),
    confirm: (digest) => inTurn(() => confirm(held, digest)),
  }
}
