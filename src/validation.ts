/**
 * Explains why a value does not match a zod schema, for the person who wrote it: the field, its value and what to write
 * instead; for an unknown field the nearest known one. Used for every file and request that people write.
 */
import { distance } from 'fastest-levenshtein'
import type { z } from 'zod'

/** Returns the known word that is nearest to `word`, or undefined when none is near enough to suggest. */
export const nearestWord = (word: string, known: readonly string[]): string | undefined => {
  const lower = word.slice(0, 64).toLowerCase()
  const ranked = known
    .map((entry) => ({ entry, far: distance(lower, entry.toLowerCase()) }))
    .toSorted((a, b) => a.far - b.far)
  const best = ranked[0]
  if (best === undefined) return undefined
  const within = best.entry.toLowerCase().startsWith(lower) && lower.length >= 3
  return (best.far <= Math.ceil(best.entry.length / 3) && best.far < best.entry.length) || within
    ? best.entry
    : undefined
}

export const pathText = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : text === '' ? String(key) : `${text}.${String(key)}`),
    '',
  )

/** Returns a value as JSON, cut to fit on one line. */
export const valueText = (value: unknown): string => {
  // JSON has no text for undefined or a function; neither can come from a file.
  const text = (JSON.stringify(value) as string | undefined) ?? 'nothing'
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

export const valueAt = (root: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined,
    root,
  )

/** Values of these keys are secrets, also where they are wrong. Only their kind is shown. */
const secretKeys: readonly PropertyKey[] = ['secret', 'on_escalation', 'ntfy', 'ntfyAnswers']

const shownValue = (path: readonly PropertyKey[], value: unknown): string => {
  if (value === undefined) return 'missing'
  return secretKeys.includes(path.at(-1) ?? '') && typeof value === 'string' ? 'not usable' : valueText(value)
}

/** Returns the allowed keys of the object at a path, for the suggestion. */
export type KnownKeys = (path: readonly PropertyKey[]) => readonly string[]

const sentenceOf = (issue: z.core.$ZodIssue, found: unknown, knownKeys: KnownKeys): string => {
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0] ?? ''
    const known = knownKeys(issue.path)
    const guess = nearestWord(key, known)
    const advice = guess === undefined ? `Known keys here: ${known.join(', ')}` : `Did you mean "${guess}"?`
    return `unknown key ${pathText([...issue.path, key])}. ${advice}`
  }
  const where = issue.path.length === 0 ? 'the whole file' : pathText(issue.path)
  return `${where} is ${shownValue(issue.path, valueAt(found, issue.path))}; ${issue.message}`
}

const prototypeNames = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * The path of the first key that every object has anyway. Schemas pass over `__proto__` without a word, and a table of the owner's names
 * would find the others without an entry.
 */
export const prototypeKeyIn = (root: unknown): string | undefined => {
  const open: { value: unknown; path: PropertyKey[] }[] = [{ value: root, path: [] }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path } = next
    if (typeof value !== 'object' || value === null) continue
    for (const [key, inner] of Object.entries(value)) {
      const at = [...path, Array.isArray(value) ? Number(key) : key]
      if (prototypeNames.has(key)) return pathText(at)
      open.push({ value: inner, path: at })
    }
  }
  return undefined
}

const maxSentences = 5

/** One line for each of the first five problems, so that a person can correct all of them at once. */
export const explainIssue = (error: z.ZodError, found: unknown, knownKeys: KnownKeys): string => {
  const sentences = error.issues.slice(0, maxSentences).map((issue) => sentenceOf(issue, found, knownKeys))
  const more = error.issues.length - sentences.length
  return [...sentences, ...(more > 0 ? [`and ${more} more`] : [])].join('\n  ') || 'the input is not valid'
}

/** Returns "line 3, column 7" for an offset; both count from 1. */
export const lineAndColumn = (text: string, offset: number): string => {
  const before = text.slice(0, offset).split('\n')
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}

/** Never throws. The problem names line and column where the parser reports an offset. */
export const parseJson = (text: string): { ok: true; value: unknown } | { ok: false; problem: string } => {
  try {
    return { ok: true, value: JSON.parse(text.replace(/^\uFEFF/, '')) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const offset = /at position (\d+)/.exec(message)?.[1]
    const plain = message.replace(/ in JSON at position.*$/s, '')
    return { ok: false, problem: offset === undefined ? plain : `${lineAndColumn(text, Number(offset))}: ${plain}` }
  }
}
