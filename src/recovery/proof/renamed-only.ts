/**
 * Whether tests changed in nothing but names of the product that are gone: each is replaced by one new name throughout, so that they expect
 * what they expected. Pure.
 */

export interface ChangedFile {
  path: string
  /** Absent where the base commit, or the work, does not have the file. */
  before?: string
  after?: string
}

const word = /([A-Za-z_$][\w$]*)/

const wordsOf = (files: readonly ChangedFile[], side: 'before' | 'after'): Set<string> =>
  new Set(
    files.flatMap((file) =>
      file[side] === undefined ? [] : `${file.path} ${file[side]}`.split(word).filter((_, at) => at % 2 === 1),
    ),
  )

/** The names that differ, old → new; undefined = more differs, or not alike everywhere. */
const namesBetween = (before: string, after: string): Map<string, string> | undefined => {
  const [old, now] = [before.split(word), after.split(word)]
  const names = new Map<string, string>()
  if (old.length !== now.length) return undefined
  for (const [at, text] of old.entries()) {
    const other = now[at] ?? ''
    if (text === other) continue
    if (at % 2 === 0 || (names.get(text) ?? other) !== other) return undefined
    names.set(text, other)
  }
  return names
}

export const onlyRenames = (tests: readonly ChangedFile[], subject: readonly ChangedFile[]): boolean => {
  const [old, now] = [wordsOf(subject, 'before'), wordsOf(subject, 'after')]
  const gone = [...old].filter((name) => !now.has(name))
  const isRenamed = (from: string, to: string): boolean =>
    gone.some((name) => {
      const at = from.indexOf(name)
      const end = from.length - at - name.length
      const other = to.slice(at, to.length - end)
      return (
        at >= 0 &&
        now.has(other) &&
        !old.has(other) &&
        to === `${from.slice(0, at)}${other}${from.slice(at + name.length)}`
      )
    })
  const isSame = (before: string, after: string): boolean => {
    const names = namesBetween(before, after)
    if (names === undefined || new Set(names.values()).size < names.size) return false
    return [...names].every(([from, to]) => isRenamed(from, to))
  }
  const added = tests.filter(({ before }) => before === undefined)
  return tests
    .filter(({ before }) => before !== undefined)
    .every(({ before = '', after }) =>
      after === undefined ? added.some((file) => isSame(before, file.after ?? '')) : isSame(before, after),
    )
}
