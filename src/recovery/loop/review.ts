/** What the reviewer says, from `review.json` and the final message of the turn. Both are written by an agent. */
import { z } from 'zod'
import { explainIssue, parseJson } from '../../validation.ts'
import { plainLines } from './plain-lines.ts'

/**
 * The reviewer's promise: a line of its own, the last one of the final message, with the exact text. Prose that mentions the promise,
 * quotes it or refuses it contains the same characters, so nothing else counts.
 */
const open = '<promise>'
const close = '</promise>'

/** The text of the promise that ends this message; undefined = there is none. */
export const promiseIn = (message: string): string | undefined => {
  const last = plainLines(message).findLast(({ text }) => text.trim() !== '')
  const whole = message.trimEnd().split(/\r?\n/).at(-1)
  // The last line is inside of a code block.
  if (last === undefined || last.text !== whole) return undefined
  const line = last.text.trimEnd()
  if (!line.startsWith(open) || !line.endsWith(close)) return undefined
  const text = line.slice(open.length, -close.length)
  return /[<>]/.test(text) ? undefined : text
}

export interface NamedFile {
  path: string
  sha256: string
}

/** `problem`: the file cannot be read as a review, so nothing of the turn counts. */
export type Review =
  | { ok: true; promised: boolean; evidence: NamedFile[]; remaining: string[] }
  | { ok: false; problem: string }

const text = z.string({ error: 'allowed: a text' }).max(10_000, { error: 'allowed: at most 10000 characters' })
const list = <T extends z.ZodType>(item: T) =>
  z.array(item, { error: 'allowed: a list' }).max(200, { error: 'allowed: at most 200 entries' })

const reviewFile = z.object({
  promise: text.nullish(),
  evidence: list(
    z.object({
      path: text.min(1, { error: 'allowed: the path of a file' }),
      sha256: text.regex(/^[0-9a-f]{64}$/i, { error: 'allowed: 64 hexadecimal digits' }),
    }),
  ).nullish(),
  remaining: list(text).nullish(),
})

/** `file`: the text of review.json, `message`: the CLI's structured result; undefined = there is none. The exact promise is needed. */
export const readReview = (given: { file?: string; message?: string }, promise: string): Review => {
  const said = given.message === undefined ? undefined : promiseIn(given.message)
  if (given.file === undefined) return { ok: true, promised: said === promise, evidence: [], remaining: [] }
  const json = parseJson(given.file)
  if (!json.ok) return { ok: false, problem: `review.json is not valid JSON (${json.problem})` }
  const read = reviewFile.safeParse(json.value)
  if (!read.success) return { ok: false, problem: `review.json: ${explainIssue(read.error, json.value, () => [])}` }
  const { promise: written, evidence, remaining } = read.data
  return {
    ok: true,
    // A file that names another promise contradicts the message.
    promised: written === promise || (written === undefined && said === promise),
    evidence: (evidence ?? []).map(({ path, sha256 }) => ({ path, sha256: sha256.toLowerCase() })),
    remaining: remaining ?? [],
  }
}
