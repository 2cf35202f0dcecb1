/**
 * Makes a list of the owner's configuration longer by one entry, as an answer of a person does. It is written only if the result is valid
 * and nothing else of the file changes.
 */
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { loadConfig, type Config } from '../../config/config.ts'
import { listPath, withEntry, type ListEntry, type ListKey } from '../../config/config-edit.ts'
import { AppError } from '../../errors.ts'
import { parseJson } from '../../validation.ts'
import type { Context } from '../core/context.ts'
import { replaceFile } from '../core/owner-export.ts'
import { changedLines } from './changed-lines.ts'

type Place = Pick<Context, 'ports' | 'repository' | 'environment'>

const digestOfText = (text: string | undefined): string =>
  text === undefined ? 'no file' : createHash('sha256').update(text).digest('hex').slice(0, 16)

/** A link is followed, so that it stays a link. */
const fileOf = ({ ports, repository }: Place): { path: string; text: string | undefined; mode: number } => {
  const path = join(repository.root, '.unstuck', 'config.json')
  if (!ports.files.existsSync(path)) return { path, text: undefined, mode: 0o644 }
  const target = ports.files.realpathSync(path)
  const { mode } = ports.files.statSync(target)
  return { path: target, text: ports.files.readFileSync(target, 'utf8'), mode: mode & 0o777 }
}

const objectOf = (text: string | undefined): Record<string, unknown> => {
  const json = parseJson(text ?? '{}')
  return json.ok ? (json.value as Record<string, unknown>) : {}
}

/** A file that states a key twice, for example, can be changed at the place that does not count. */
const expectExactly = (path: string, before: string | undefined, after: string, { key, value }: ListEntry): void => {
  const [section, name] = listPath(key)
  const old = objectOf(before)
  const fields = (old[section] ?? {}) as Record<string, string[] | undefined>
  const wanted = { ...old, [section]: { ...fields, [name]: [...(fields[name] ?? []), value] } }
  if (!isDeepStrictEqual(objectOf(after), wanted))
    throw new AppError(
      'CONFIG_INVALID',
      `${path}: ${key} cannot be changed by itself; add ${JSON.stringify(value)} there by hand, and then answer`,
    )
}

const listIn = ({ recovery, workspace }: Config, key: ListKey): readonly string[] =>
  ({
    'recovery.auto_approve': recovery?.auto_approve ?? [],
    'workspace.copy': workspace.copy,
    'workspace.filters': workspace.filters,
  })[key]

export interface ListChange {
  /** The file that would be changed. */
  path: string
  /** As a patch; '' = the file lists the entry already. */
  diff: string
  /** Stands for the content that was read. */
  seen: string
  after: string
  mode: number
}

/** What adding the entry would change. Reads only. */
export const plannedEntry = (place: Place, entry: ListEntry): ListChange => {
  const { path, text, mode } = fileOf(place)
  const load = (content: string | undefined) =>
    loadConfig({ root: place.repository.root, environment: place.environment, readFile: () => content })
  const isListed = listIn(load(text), entry.key).includes(entry.value)
  const after = isListed ? (text ?? '') : withEntry(text, entry)
  if (!isListed) {
    load(after)
    expectExactly(path, text, after, entry)
  }
  return { path, mode, after, diff: changedLines(text ?? '', after), seen: digestOfText(text) }
}

/**
 * Writes the change. The answer of a person confirms the entry as `unstuck config confirm` would, also one that the file lists
 * already.
 */
export const addEntry = (context: Context, entry: ListEntry, change: ListChange): void => {
  const { files } = context.ports
  if (change.diff !== '') {
    files.mkdirSync(dirname(change.path), { recursive: true })
    replaceFile(files, change.path, change.after, change.mode)
  }
  context.approveEntry?.(entry)
}
