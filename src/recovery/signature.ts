/**
 * Fingerprint of a failure: code, label and the cause line with everything blanked that differs between two occurrences of
 * the same failure (ids, hashes, absolute paths, times). Counts stay: 47 failing tests becoming 3 is progress, not a repeat.
 */

/** A cause is a line; what a hostile tool writes beyond that is not read. */
const maxCause = 2000

const blanks: [RegExp, string][] = [
  // Built from its code point, because a control character in a source file is invisible in review.
  [new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g'), ''],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<uuid>'],
  [/\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b/gi, '<hash>'],
  [/\b\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?/g, '<time>'],
  [/\b\d\d:\d\d:\d\d(?:\.\d+)?\b/g, '<time>'],
  // Absolute ones only: which file of the repository failed tells two failures apart.
  [/(?<![\w.~\-/])(?:\/[^\s/'":,)]+){2,}/g, '<path>'],
  [/\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds|minutes)\b/g, '<duration>'],
  [/\bpid \d+\b/g, 'pid <n>'],
  [/\s+/g, ' '],
]

export const normalised = (text: string): string =>
  blanks.reduce((before, [pattern, blank]) => before.replace(pattern, blank), text.slice(0, maxCause)).trim()

export const signatureOf = (failureCode: string, label: string, cause: string): string =>
  `${failureCode}/${label}: ${normalised(cause).slice(0, 300)}`

/** FNV-1a over the characters, twice with different starts: short and stable; nothing secret depends on it. */
export const digestOf = (text: string): string =>
  [0x811c9dc5, 0x01234567]
    .map((start) => {
      let hash = start
      for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
      return (hash >>> 0).toString(16).padStart(8, '0')
    })
    .join('')

export interface Fingerprint {
  failureCode: string
  label: string
  /** The program that failed, without its folder. */
  tool: string
  /** Failed tests by name, where the runner names them: their order says nothing. */
  failing: readonly string[]
  cause: string
}

/**
 * One that holds the set of failing tests: the same tests in another order are the same failure again, fewer of them are
 * progress. Names beyond a handful are held as a hash, so that the whole stays short.
 */
export const fingerprint = ({ failureCode, label, tool, failing, cause }: Fingerprint): string => {
  const start = `${failureCode}/${label}: ${tool}`
  if (failing.length === 0) return `${start}: ${normalised(cause).slice(0, 300)}`
  const names = [...new Set(failing.map(normalised))].sort()
  const digest = digestOf(names.join('\n'))
  return `${start}: ${names.length} failing ${digest}: ${names.slice(0, 3).join('; ').slice(0, 300)}`
}
