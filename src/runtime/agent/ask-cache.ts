/**
 * Valid answers to earlier questions, one file each, by a digest of everything that decides the answer. Bounded in number and age.
 * A file that cannot be read or does not match its name or the schema counts as no answer.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { messageOf } from '../../errors.ts'
import type { Context } from '../core/context.ts'
import { readStateFile } from '../core/files.ts'

const mostAnswers = 500
const longestMs = 14 * 24 * 3600 * 1000

/** With sorted keys, because two inputs that differ only in the order of their keys are the same input. */
const canonical = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, each]) => [key, canonical(each)]))
}

export interface QuestionIdentity {
  purpose: string
  version: string
  input: unknown
  schema: string
  harness: string
  model: string | null
}

export const questionKey = (identity: QuestionIdentity): string =>
  createHash('sha256')
    .update(JSON.stringify(canonical(identity)))
    .digest('hex')

type Caching = Pick<Context, 'stateDir' | 'ports' | 'clock' | 'log'>

const entrySchema = z.object({ key: z.string(), at: z.iso.datetime(), answer: z.unknown() })

const folderOf = ({ stateDir }: Caching): string => join(stateDir, 'answers')

export const readCachedAnswer = (context: Caching, key: string): unknown => {
  const entry = readStateFile(context, join(folderOf(context), `${key}.json`), entrySchema)
  if (entry?.key !== key) return undefined
  const age = context.clock.now().getTime() - Date.parse(entry.at)
  return age <= longestMs ? entry.answer : undefined
}

/** Removes what is too old, and the oldest beyond the bound. */
const prune = (context: Caching): void => {
  const { files } = context.ports
  const folder = folderOf(context)
  const found = files
    .readdirSync(folder)
    .map((name) => ({ path: join(folder, name), at: files.statSync(join(folder, name)).mtimeMs }))
    .toSorted((a, b) => b.at - a.at)
  const oldest = context.clock.now().getTime() - longestMs
  for (const [rank, { path, at }] of found.entries())
    if (rank >= mostAnswers || at < oldest) files.rmSync(path, { force: true })
}

/** Written under a name of its own and then renamed, so that no reader sees half of it. A failure only costs the next question. */
export const writeCachedAnswer = (context: Caching, key: string, answer: unknown, writer: string): void => {
  const { files } = context.ports
  const folder = folderOf(context)
  const making = join(folder, `${key}.${writer}.making`)
  try {
    files.mkdirSync(folder, { recursive: true, mode: 0o700 })
    const entry = { key, at: context.clock.now().toISOString(), answer }
    files.writeFileSync(making, JSON.stringify(entry), { mode: 0o600 })
    files.renameSync(making, join(folder, `${key}.json`))
    prune(context)
  } catch (error) {
    context.log.warn({ error: messageOf(error) }, 'the answer to a question could not be kept')
  }
}
