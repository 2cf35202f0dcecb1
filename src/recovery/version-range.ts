/**
 * Whether a version satisfies a project's requirement: npm's ranges, Python's specifiers and plain versions. Pure. The result
 * is undefined, never a guess, for a form that is not understood (`lts/*`, `stable`, a pre-release).
 */

type Version = readonly [major: number, minor: number, patch: number]

const order = (a: Version, b: Version): number => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]

interface Partial {
  parts: number[]
  /** The lowest version that matches: parts that are missing or `x` are 0. */
  least: Version
}

const partialOf = (text: string): Partial | undefined => {
  const places = /^v?(\d+|[xX*])(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?$/.exec(text)?.slice(1)
  if (places === undefined) return undefined
  const open = places.findIndex((place) => place === undefined || !/^\d+$/.test(place))
  const parts = (open === -1 ? places : places.slice(0, open)).map(Number)
  return { parts, least: [parts[0] ?? 0, parts[1] ?? 0, parts[2] ?? 0] }
}

/** The first version above all that start with these parts; undefined = there is none. */
const behind = (parts: readonly number[]): Version | undefined => {
  const last = parts.length - 1
  if (last < 0) return undefined
  const raised = parts.map((part, at) => (at === last ? part + 1 : part))
  return [raised[0] ?? 0, raised[1] ?? 0, raised[2] ?? 0]
}

const inside = (version: Version, least: Version, end: Version | undefined): boolean =>
  order(version, least) >= 0 && (end === undefined || order(version, end) < 0)

const caretEnd = (parts: readonly number[]): Version | undefined => {
  const first = parts.findIndex((part) => part !== 0)
  return behind(parts.slice(0, first === -1 ? parts.length : first + 1))
}

const tests: Record<string, (version: Version, wanted: Partial) => boolean> = {
  '': (version, { least, parts }) => inside(version, least, behind(parts)),
  '>=': (version, { least }) => order(version, least) >= 0,
  '<': (version, { least }) => order(version, least) < 0,
  '<=': (version, { least, parts }) => {
    const end = behind(parts)
    return end === undefined || (parts.length === 3 ? order(version, least) <= 0 : order(version, end) < 0)
  },
  '>': (version, { least, parts }) => {
    const end = behind(parts)
    return end !== undefined && (parts.length === 3 ? order(version, least) > 0 : order(version, end) >= 0)
  },
  '^': (version, { least, parts }) => inside(version, least, caretEnd(parts)),
  '~': (version, { least, parts }) => inside(version, least, behind(parts.slice(0, 2))),
  '~=': (version, { least, parts }) => inside(version, least, behind(parts.slice(0, Math.max(1, parts.length - 1)))),
  '!=': (version, { least, parts }) => !inside(version, least, behind(parts)),
}

const comparators = /(\^|~=|~>|~|>=|<=|!=|===?|=|>|<)?\s*([^\s,<>=~^!]+)/g

const meetsAll = (version: Version, text: string): boolean | undefined => {
  const hyphen = /^\s*(\S+)\s+-\s+(\S+)\s*$/.exec(text)
  if (hyphen !== null) return meetsAll(version, `>=${hyphen[1]} <=${hyphen[2]}`)
  let met = true
  for (const [, sign = '', wanted = ''] of text.matchAll(comparators)) {
    const partial = partialOf(wanted.replace(/\.\*$/, ''))
    if (partial === undefined) return undefined
    const test = tests[/^=+$/.test(sign) ? '' : sign === '~>' ? '~' : sign]
    if (test?.(version, partial) === false) met = false
  }
  return met
}

const maxLength = 200

export const isInRange = (found: string, range: string): boolean | undefined => {
  const places = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(found)
  if (places === null || range.length > maxLength) return undefined
  const version: Version = [Number(places[1]), Number(places[2]), Number(places[3] ?? 0)]
  let unclear = false
  for (const alternative of range.split('||')) {
    const met = meetsAll(version, alternative)
    if (met === true) return true
    if (met === undefined) unclear = true
  }
  return unclear ? undefined : false
}
