/**
 * Fingerprint of a failure: code, label and the line with the cause, in which everything is blanked that differs between two
 * occurrences of the same failure (ids, hashes, absolute paths, times). Counts stay: 3 failing tests after 47 are progress.
 */

/** In characters. A cause is one line; the rest of an overlong line is ignored, so that a hostile tool cannot cost time. */
export const normalisedLength = 2000

// Built from its code point, because a control character in a source file is invisible in review.
const escape = String.fromCharCode(27)
const colours = new RegExp(`${escape}\\[[0-9;]*m`, 'g')

/** What differs between two occurrences. One combined expression, because nine separate passes take three times as long. */
const differing = new RegExp(
  [
    String.raw`(?<uuid>\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b)`,
    String.raw`(?<hash>\b(?=[0-9a-fA-F]*[a-fA-F])(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{7,64}\b)`,
    String.raw`(?<time>\b\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d:\d\d(?:\.\d+)?\b)`,
    String.raw`(?<duration>\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds|minutes)\b)`,
    // Only absolute paths: a relative path names a file of the repository, which distinguishes failures.
    String.raw`(?<path>(?<![\w.~\-/])(?:\/[^\s/'":,)]+){2,})`,
    String.raw`\bpid (?<pid>\d+)\b`,
    String.raw`(?<space>\s{2,}|[^\S ])`,
  ].join('|'),
  'g',
)

type Differing = Record<'uuid' | 'hash' | 'time' | 'duration' | 'path' | 'pid' | 'space', string | undefined>

const blank = (...given: unknown[]): string => {
  const found = given.at(-1) as Differing
  if (found.space !== undefined) return ' '
  if (found.pid !== undefined) return 'pid <n>'
  const kind = (['uuid', 'hash', 'time', 'duration'] as const).find((name) => found[name] !== undefined)
  return `<${kind ?? 'path'}>`
}

export const normalised = (text: string): string => {
  const short = text.slice(0, normalisedLength)
  return (short.includes(escape) ? short.replace(colours, '') : short).replace(differing, blank).trim()
}

export const signatureOf = (failureCode: string, label: string, cause: string): string =>
  `${failureCode}/${label}: ${normalised(cause).slice(0, 300)}`

/** FNV-1a over the characters, twice with different starts. Short and stable, but not cryptographic. */
export const digestOf = (text: string): string => {
  let [first, second] = [0x811c9dc5, 0x01234567]
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    first = Math.imul(first ^ code, 0x01000193)
    second = Math.imul(second ^ code, 0x01000193)
  }
  return [first, second].map((hash) => (hash >>> 0).toString(16).padStart(8, '0')).join('')
}

export interface Fingerprint {
  failureCode: string
  label: string
  /** The program that failed, without its folder. */
  tool: string
  /** Names of the failed tests, where the runner reports them. Their order does not matter. */
  failing: readonly string[]
  cause: string
}

/**
 * A fingerprint with the set of failing tests: the same tests in another order are the same failure, fewer tests are progress.
 * Only the first names are spelled out, the whole set is a hash, so that the result stays short.
 */
export const fingerprint = ({ failureCode, label, tool, failing, cause }: Fingerprint): string => {
  const start = `${failureCode}/${label}: ${tool}`
  if (failing.length === 0) return `${start}: ${normalised(cause).slice(0, 300)}`
  const names = [...new Set(failing.map(normalised))].sort()
  const digest = digestOf(names.join('\n'))
  return `${start}: ${names.length} failing ${digest}: ${names.slice(0, 3).join('; ').slice(0, 300)}`
}
