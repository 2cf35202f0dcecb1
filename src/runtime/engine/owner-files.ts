/** The settings in the owner's files as one value: how they are read, compared, narrowed and kept. No store here. */
import type { ListEntry, ListKey } from '../../config/config-edit.ts'
import { createHash } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import { configSchema } from '../../config/config-schema.ts'
import { narrowedSettings, settingChanges, type SettingChange } from '../../domain/config-change.ts'
import { messageOf } from '../../errors.ts'
import { readKeptConfig } from '../../config/kept-config.ts'
import { readOwnerFile } from '../../config/owner-file.ts'
import {
  defaultPolicyRecovery,
  policyRecoverySchema,
  type PolicyRecovery,
} from '../../recovery/policy/recovery-policy.ts'
import { readOwnPlaybook, type OwnPlaybook } from '../../recovery/own/own-playbook.ts'
import { parseJson, valueAt } from '../../validation.ts'
import { parseContract, type VerifyContract } from '../checks/verify-contract.ts'

/** The text of a file; undefined = there is none. */
export type ReadFileText = (path: string) => string | undefined

/** Each reader throws CONFIG_INVALID with file, key and reason. */
export interface OwnerFiles {
  config: (read: ReadFileText) => Config
  policy: (read: ReadFileText) => PolicyRecovery
  /** Undefined = there is no contract. */
  contract: (read: ReadFileText) => VerifyContract | undefined
  playbooks: PlaybookFiles
}

/** The owner's playbooks, one file each. */
export interface PlaybookFiles {
  /** Names of the files that are there; more than may be is a problem. */
  names: () => { names: string[]; problems: string[] }
  /** Undefined = there is no such file. */
  one: (name: string, read: ReadFileText) => OwnPlaybook | undefined
}

/** Under the names of the files, so that a key names its file. */
export interface Owned {
  config: Config
  'policy-recovery': PolicyRecovery
  'verify.contract': VerifyContract
  /** By name, each as a list of one, so that a change of a part of it is a change of the whole. */
  playbook: Readonly<Record<string, readonly OwnPlaybook[]>>
}

const fileNames = ['config', 'policy-recovery', 'verify.contract', 'playbook'] as const

/** Settings that were kept have the same keys as those of a file in another order. */
const inOrder = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value

export const settingsDigest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value, inOrder)).digest('hex')

const flat = ({ config, ...files }: Owned): object => ({ ...config, ...files })

export const narrowedFiles = (before: Owned, after: Owned): Owned => ({
  config: narrowedSettings(before.config, after.config),
  'policy-recovery': narrowedSettings(before['policy-recovery'], after['policy-recovery'], 'policy-recovery'),
  'verify.contract': narrowedSettings(before['verify.contract'], after['verify.contract'], 'verify.contract'),
  playbook: narrowedSettings(before.playbook, after.playbook, 'playbook'),
})

export const widenings = (before: Owned, after: Owned): SettingChange[] =>
  settingChanges(flat(before), flat(after)).filter(({ direction }) => direction === 'widening')

export const settingsBetween = (from: Owned, to: Owned): SettingChange[] => settingChanges(flat(from), flat(to))

/** How long a file that is gone keeps its settings: a branch switch and an editor that writes anew remove it for a moment. */
export const absenceSeconds = 60

interface Absent {
  path: string
  /** Its settings still apply. */
  isKept: boolean
}

/**
 * The texts of the owner's files, of one that has just gone its last one. `now`: milliseconds of a clock that only goes forward.
 * `forgets`: a file that is gone for longer was removed on purpose, so nothing of it is remembered.
 */
const createTexts = (now: () => number, forgets = false) => {
  const last = new Map<string, string>()
  const gone = new Map<string, number>()
  return {
    read: (path: string): string | undefined => {
      const text = readOwnerFile(path)
      if (text !== undefined) {
        last.set(path, text)
        gone.delete(path)
        return text
      }
      const kept = last.get(path)
      if (kept === undefined) return undefined
      const since = gone.get(path) ?? now()
      gone.set(path, since)
      if (now() - since < absenceSeconds * 1000) return kept
      if (forgets) for (const each of [last, gone]) each.delete(path)
      return undefined
    },
    absent: (): Absent[] => [...gone].map(([path, since]) => ({ path, isKept: now() - since < absenceSeconds * 1000 })),
  }
}

/** Parses again only when a text has changed: settings are asked for at every use. */
const whenChanged = <T>(readText: ReadFileText, load: (read: ReadFileText) => T): (() => T) => {
  let last: { texts: Map<string, string | undefined>; outcome: () => T } | undefined
  return () => {
    if (last !== undefined && [...last.texts].every(([path, text]) => readText(path) === text)) return last.outcome()
    last = undefined
    const texts = new Map<string, string | undefined>()
    const read: ReadFileText = (path) => {
      const text = readText(path)
      texts.set(path, text)
      return text
    }
    const outcome = ((): (() => T) => {
      try {
        const value = load(read)
        return () => value
      } catch (error) {
        return () => {
          throw error
        }
      }
    })()
    // Without a text (it cannot be read) nothing shows whether it has changed.
    if (texts.size > 0) last = { texts, outcome }
    return outcome()
  }
}

/** One file per playbook: one that is not valid keeps only its own last good version, and the others go on. */
const createReadPlaybooks = (
  { names, one }: PlaybookFiles,
  now: () => number,
): ((before: Owned['playbook'] | undefined, problems: string[]) => Owned['playbook']) => {
  const texts = createTexts(now, true)
  type Read = () => readonly OwnPlaybook[]
  const readers = new Map<string, Read>()
  const readerOf = (name: string): Read => {
    const reader = readers.get(name) ?? whenChanged(texts.read, (read) => [one(name, read) ?? []].flat())
    readers.set(name, reader)
    return reader
  }
  return (before = {}, problems) => {
    const found = names()
    problems.push(...found.problems)
    const entries = [...new Set([...found.names, ...readers.keys()])].toSorted().flatMap((name) => {
      try {
        const playbook = readerOf(name)()
        if (playbook.length === 0) readers.delete(name)
        return playbook.length === 0 ? [] : [[name, playbook] as const]
      } catch (error) {
        // A broken file that was removed has no settings that could return.
        if (!found.names.includes(name)) {
          readers.delete(name)
          return []
        }
        problems.push(messageOf(error))
        return before[name] === undefined ? [] : [[name, before[name]] as const]
      }
    })
    for (const { path, isKept } of texts.absent())
      if (isKept)
        problems.push(`${path} is gone, and is no longer used if it does not return within ${absenceSeconds} s`)
    return Object.fromEntries(entries)
  }
}

/** `absent`: files that were there before, in this life of the engine. */
export type ReadAll = (before?: Owned) => { read: Owned; problems: string[]; absent: Absent[] }

const noContract: VerifyContract = {}

/** Reads all files; of one that is not valid the part in use stays. */
export const createReadAll = (files: OwnerFiles, now: () => number): ReadAll => {
  const texts = createTexts(now)
  const config = whenChanged(texts.read, files.config)
  const policy = whenChanged(texts.read, files.policy)
  const contract = whenChanged(texts.read, files.contract)
  const playbooks = createReadPlaybooks(files.playbooks, now)
  const part = <T>(read: () => T, before: T | undefined, problems: string[]): T => {
    try {
      return read()
    } catch (error) {
      if (before === undefined) throw error
      problems.push(messageOf(error))
      return before
    }
  }
  return (before) => {
    const problems: string[] = []
    const read = {
      config: part(config, before?.config, problems),
      'policy-recovery': part(policy, before?.['policy-recovery'], problems),
      'verify.contract': part(() => contract() ?? noContract, before?.['verify.contract'], problems),
      playbook: playbooks(before?.playbook, problems),
    }
    const absent = texts.absent()
    for (const { path } of absent.filter(({ isKept }) => isKept))
      problems.push(`${path} is gone, and the defaults apply if it does not return within ${absenceSeconds} s`)
    return { read, problems, absent }
  }
}

/** The list of playbooks is new at each reading, its entries are not. */
const isSame = (one: object | undefined, other: object): boolean => {
  if (one === other) return true
  const [before, after] = [Object.entries(one ?? {}), Object.entries(other)]
  return (
    before.length === after.length &&
    before.every(([name, value], at) => after[at]?.[0] === name && after[at][1] === value)
  )
}

/** What both allow, computed again only when one of the two has changed. */
export const createNarrowed = (): ((before: Owned, after: Owned) => Owned) => {
  let last: { before: Owned; after: Owned; both: Owned } | undefined
  const isLast = (before: Owned, after: Owned): boolean =>
    last?.before === before && fileNames.every((name) => isSame(last?.after[name], after[name]))
  return (before, after) => {
    if (last === undefined || !isLast(before, after)) {
      const both = settingsDigest(before) === settingsDigest(after) ? before : narrowedFiles(before, after)
      last = { before, after, both }
    }
    return last.both
  }
}

/** A copy with this value at the path; undefined removes the key. */
export const withValue = (target: object, [key = '', ...rest]: readonly string[], value: unknown): object => {
  const inner = (target as Record<string, unknown>)[key]
  const next = rest.length === 0 ? value : withValue(inner ?? {}, rest, value)
  const { [key]: _before, ...others } = target as Record<string, unknown>
  return next === undefined ? others : { ...target, [key]: next }
}

/** `harness.codex` as it is in a loaded configuration. */
const pathOfKey = (key: string): string[] => {
  const [first = '', ...rest] = key.split('.')
  return first === 'harness' ? [first, 'named', ...rest] : [first, ...rest]
}

/** The new settings with these keys as they were; `frozen`: those that would have changed. */
export const withFrozen = (before: Owned, after: Owned, keys: readonly string[]): { kept: Owned; frozen: string[] } => {
  const frozen = keys.filter((key) => {
    const [old, now] = [before, after].map(({ config }) => valueAt(config, pathOfKey(key)) ?? null)
    return settingsDigest(old) !== settingsDigest(now)
  })
  const config = frozen.reduce<object>(
    (next, key) => withValue(next, pathOfKey(key), valueAt(before.config, pathOfKey(key))),
    after.config,
  )
  return { kept: frozen.length === 0 ? after : { ...after, config: config as Config }, frozen }
}

/** The values of one list that were approved, and that the file lists and the settings in use do not. */
const newIn = (
  key: ListKey,
  entries: readonly ListEntry[],
  { listed, used }: { listed: readonly string[]; used: readonly string[] },
): string[] =>
  entries
    .filter((entry) => entry.key === key && listed.includes(entry.value) && !used.includes(entry.value))
    .map(({ value }) => value)

/** With those entries that a person added by an answer, and that the file lists. */
export const withApproved = (before: Owned, read: Owned, entries: readonly ListEntry[]): Owned => {
  const section = before.config.recovery ?? configSchema.parse({ recovery: {} }).recovery
  const { workspace } = before.config
  const commands = newIn('recovery.auto_approve', entries, {
    listed: read.config.recovery?.auto_approve ?? [],
    used: section?.auto_approve ?? [],
  })
  const added = (name: 'copy' | 'filters'): string[] => [
    ...workspace[name],
    ...newIn(`workspace.${name}`, entries, { listed: read.config.workspace[name], used: workspace[name] }),
  ]
  return {
    ...before,
    config: {
      ...before.config,
      ...(section === undefined || commands.length === 0
        ? {}
        : { recovery: { ...section, auto_approve: [...section.auto_approve, ...commands] } }),
      workspace: { ...workspace, copy: added('copy'), filters: added('filters') },
    },
  }
}

/** What the defaults and the files both allow: for an engine that no longer knows which settings were in use. */
export const defaultsOf = (files: Owned): Owned =>
  narrowedFiles(
    {
      ...{ config: configSchema.parse({}), 'policy-recovery': defaultPolicyRecovery },
      ...{ 'verify.contract': noContract, playbook: {} },
    },
    files,
  )

const keptContract = (value: unknown): VerifyContract | undefined => {
  try {
    return parseContract('kept', JSON.stringify(value))
  } catch {
    return undefined // another version wrote it
  }
}

/** Those that this version can read; another one is new then, and waits where an agent could have written it. */
const keptPlaybooks = (value: unknown): Owned['playbook'] =>
  Object.fromEntries(
    Object.entries(typeof value === 'object' && value !== null ? value : {}).flatMap(([name, list]) => {
      const read = readOwnPlaybook(JSON.stringify(Array.isArray(list) ? list[0] : list) ?? '')
      return read.ok ? [[name, [read.playbook]]] : []
    }),
  )

/** Settings that were kept as JSON. Undefined = this version cannot read them. */
export const readKept = (text: string): Owned | undefined => {
  const json = parseJson(text)
  if (!json.ok) return undefined
  const kept = json.value as Partial<Owned> | null
  const config = readKeptConfig(kept?.config)
  const policy = policyRecoverySchema.safeParse(kept?.['policy-recovery'])
  const contract = keptContract(kept?.['verify.contract'])
  if (config === undefined || contract === undefined || !policy.success) return undefined
  const { $schema: _schema, replaceDefaultCommandDrivenAllowedPathRules: _replace, ...rules } = policy.data
  const playbook = keptPlaybooks(kept?.playbook)
  return { config, 'policy-recovery': { ...defaultPolicyRecovery, ...rules }, 'verify.contract': contract, playbook }
}
