/** The text of a question and the reading of its answer. Pure. */
import { z } from 'zod'

/** Part of every question's identity: raise it when the text around the caller's prompt changes its meaning. */
export const questionForm = 1

const longestQuoted = 2_000
/** A longer text is not read as an answer: the objects that are asked for are small. */
const longestAnswer = 64 * 1024

/** What an answer has to match, before any transformation by the schema. */
export const schemaText = (schema: z.ZodType): string =>
  JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))

export interface Refusal {
  /** What is wrong with the answer. */
  problem: string
  answer: string
}

const quoted = (text: string): string =>
  text
    .slice(0, longestQuoted)
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')

/** `refused`: the answer before, which did not match. */
export const questionPrompt = (
  { purpose, prompt, schema }: { purpose: string; prompt: string; schema: z.ZodType },
  refused?: Refusal,
): string =>
  [
    `Question: ${purpose}`,
    prompt.trim(),
    'Answer from this text and from the files in the current folder, a copy of the code. Only read: change no file and start nothing. An answer that comes with a change is discarded.',
    `Answer with one JSON object and no other text. It has to match this JSON Schema:\n${schemaText(schema)}`,
    ...(refused === undefined
      ? []
      : [
          `Your answer before was not accepted:\n${quoted(refused.problem)}`,
          `It was:\n${quoted(refused.answer === '' ? '(empty)' : refused.answer)}`,
          'Answer again, with one JSON object that matches the schema.',
        ]),
  ].join('\n\n')

/** End of the object that begins at `from`; undefined = it is not complete. Braces inside of strings do not count. */
const endOfObject = (text: string, from: number): number | undefined => {
  let depth = 0
  let inString = false
  for (let at = from; at < text.length; at += 1) {
    const character = text[at]
    if (inString) {
      if (character === '\\') at += 1
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{') depth += 1
    else if (character === '}' && (depth -= 1) === 0) return at + 1
  }
  return undefined
}

/** More braces than this before the answer are prose or code, which would make the search quadratic. */
const mostStarts = 200

/** The first complete JSON object of a text, also inside of a fence or prose. Undefined = there is none. */
export const jsonObjectIn = (text: string): unknown => {
  if (text.length > longestAnswer) return undefined
  let tries = 0
  for (let at = text.indexOf('{'); at >= 0 && tries < mostStarts; at = text.indexOf('{', at + 1), tries += 1) {
    const end = endOfObject(text, at)
    if (end === undefined) continue
    try {
      return JSON.parse(text.slice(at, end)) as unknown
    } catch {
      // Braces of prose or of code; the object may come later.
    }
  }
  return undefined
}

export type ReadAnswer<T> = { ok: true; value: T; raw: unknown } | { ok: false; problem: string }

const mostIssues = 8

const issueText = ({ path, message }: { path: PropertyKey[]; message: string }): string =>
  path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`

export const readAnswer = <T>(text: string, schema: z.ZodType<T>): ReadAnswer<T> => {
  const raw = jsonObjectIn(text)
  if (raw === undefined) {
    const problem =
      text.length > longestAnswer
        ? `the answer has ${text.length} characters; at most ${longestAnswer} are read`
        : 'the answer contains no complete JSON object'
    return { ok: false, problem }
  }
  const parsed = schema.safeParse(raw)
  if (parsed.success) return { ok: true, value: parsed.data, raw }
  const issues = parsed.error.issues.slice(0, mostIssues).map(issueText)
  return { ok: false, problem: issues.join('\n').slice(0, longestQuoted) }
}
