/**
 * Path rules and the one matcher for them. A literal path and a glob are different types: brackets and parentheses are
 * ordinary characters (`app/[id]/(shop)/page.tsx` is a path), only `*`, `?` and `{a,b}` make a glob. Comparison is exact in
 * case and Unicode, except for rules that forbid. Dot files have no special treatment.
 *
 * We use our own matcher because globs that are compiled to backtracking regexes take minutes for one hostile file name
 * (`*a*a*a*a*b` against 255 times `a`), and agents choose file names. This matcher takes at most |glob| x |path| steps.
 */
import { foldPath, foldRule } from './fold.ts'

export type PathRule = { literal: string } | { glob: string }

export type ParsedRule = { ok: true; rule: PathRule } | { ok: false; reason: string }

const maxAlternatives = 64
const maxLength = 1024

/** Index of the `}` that closes the `{` at `open`, and the indices of the commas directly inside. */
const groupAt = (text: string, open: number): { close: number; commas: number[] } | undefined => {
  const commas: number[] = []
  let depth = 0
  for (let index = open; index < text.length; index += 1) {
    const char = text[index]
    if (char === '{') depth += 1
    else if (char === '}') depth -= 1
    else if (char === ',' && depth === 1) commas.push(index)
    if (depth === 0) return { close: index, commas }
  }
  return undefined
}

/** Expands `{a,b}` groups; a group without a comma is literal. Undefined = too many texts. */
const alternativesOf = (text: string, from = 0): string[] | undefined => {
  const open = text.indexOf('{', from)
  if (open === -1) return [text]
  const group = groupAt(text, open)
  if (group === undefined || group.commas.length === 0) return alternativesOf(text, open + 1)
  const cuts = [open, ...group.commas, group.close]
  const found: string[] = []
  for (const [index, cut] of cuts.slice(0, -1).entries()) {
    const inner = text.slice(cut + 1, cuts[index + 1])
    const more = alternativesOf(text.slice(0, open) + inner + text.slice(group.close + 1), open)
    if (more === undefined || found.push(...more) > maxAlternatives) return undefined
  }
  return found
}

const isGlob = (text: string): boolean => /[*?]/.test(text) || alternativesOf(text)?.length !== 1

/** Without empty and `.` segments; a trailing slash after a wildcard means everything below. */
const normalised = (text: string): string => {
  const path = text
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .join('/')
  return text.endsWith('/') && isGlob(path) ? `${path}/**` : path
}

const problemOf = (text: string): string | undefined => {
  if (text === '') return 'it is empty'
  if (text.includes('\0')) return 'it contains a NUL byte'
  if (text.length > maxLength) return `it is longer than ${maxLength} characters`
  const alternatives = alternativesOf(text)
  if (alternatives === undefined) return `its braces expand to more than ${maxAlternatives} paths`
  for (const path of alternatives) {
    if (path.startsWith('/')) return 'it is absolute; write it relative to the repository'
    if (/^~(\/|$)/.test(path)) return 'it starts in the home folder; write it relative to the repository'
    if (path.split('/').includes('..')) return 'it leaves the repository with ".."'
    if (normalised(path).startsWith('-')) return 'it starts with "-" and would be read as an option'
  }
  return undefined
}

/** Parses a rule: a path, a folder (covers everything below) or a glob. */
export const parsePathRule = (text: string): ParsedRule => {
  const reason = problemOf(text)
  if (reason !== undefined) return { ok: false, reason }
  const path = normalised(text)
  if (path === '') return { ok: true, rule: { glob: '**' } }
  return { ok: true, rule: isGlob(path) ? { glob: path } : { literal: path } }
}

export const ruleText = (rule: PathRule): string => ('literal' in rule ? rule.literal : rule.glob)

/** Wildcard match over any sequence. Backtracking to the last star is enough: extending an earlier star cannot help. */
export const matchSequence = <P, T>(
  pattern: readonly P[],
  items: readonly T[],
  isStar: (p: P) => boolean,
  fits: (p: P, item: T) => boolean,
): boolean => {
  let [at, index, star, resume] = [0, 0, -1, 0]
  while (index < items.length) {
    const p = pattern[at] as P
    if (at < pattern.length && isStar(p)) {
      star = at
      at += 1
      resume = index
    } else if (at < pattern.length && fits(p, items[index] as T)) {
      at += 1
      index += 1
    } else if (star === -1) return false
    else {
      at = star + 1
      resume += 1
      index = resume
    }
  }
  return pattern.slice(at).every(isStar)
}

const segmentFits = (pattern: readonly string[], segment: readonly string[]): boolean =>
  matchSequence(
    pattern,
    segment,
    (char) => char === '*',
    (char, actual) => char === '?' || char === actual,
  )

type Segments = readonly (readonly string[])[]

/** Split into code points, so that `?` also matches one character outside the basic plane. */
const segmentsOf = (path: string): Segments => path.split('/').map((segment) => Array.from(segment))

const isGlobstar = (segment: readonly string[]): boolean =>
  segment.length === 2 && segment.every((char) => char === '*')

const globMatcher = (glob: string): ((path: string) => boolean) => {
  // `src/**` matches everything below src, but not a file named src.
  const patterns = (alternativesOf(glob) ?? []).map((text) => segmentsOf(/(^|\/)\*\*$/.test(text) ? `${text}/*` : text))
  return (path) => {
    const segments = segmentsOf(path)
    return patterns.some((pattern) => matchSequence(pattern, segments, isGlobstar, segmentFits))
  }
}

/** A literal covers itself and everything below it, a glob what it matches. */
export const pathMatcher = (rule: PathRule): ((path: string) => boolean) => {
  if ('glob' in rule) return globMatcher(rule.glob)
  return (path) => path === rule.literal || path.startsWith(`${rule.literal}/`)
}

/** For protected paths: also covers every path that another file system treats as a covered one. See `fold.ts`. */
export const foldedMatcher = (rule: PathRule): ((path: string) => boolean) => {
  const exact = pathMatcher(rule)
  const folded = pathMatcher('glob' in rule ? { glob: foldRule(rule.glob) } : { literal: foldPath(rule.literal) })
  return (path) => exact(path) || folded(foldPath(path))
}
