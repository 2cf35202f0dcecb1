/**
 * The names in the pattern of a command rule. The pattern is not compiled to a regular expression, because a backtracking one
 * takes exponential time on a hostile command.
 */

/** `+` only as in `g++`, because `m+` would be meant as a regular expression. */
const name = /^(?:\.\/)?[A-Za-z0-9_][\w.@-]*(?:\/[A-Za-z0-9_][\w.@-]*)*(?:\+\+(?:-\d[\d.]*)?)?$/
const maxLength = 1000

/** `^(?:a|b)$` and `\b(a|b)\b` mean the same as `a|b`, because every name is compared as a whole. */
const withoutAnchors = (pattern: string): string => {
  const bare = pattern.replace(/^(?:\^|\\b)/, '').replace(/(?:\$|\\b)$/, '')
  const group = /^\((?:\?:)?([^()]*)\)$/.exec(bare)
  return group?.[1] ?? bare
}

/** The program names of an alternation; undefined = the pattern is something else. */
export const commandNamesOf = (pattern: string): string[] | undefined => {
  if (pattern.length > maxLength) return undefined
  const names = withoutAnchors(pattern)
    .split('|')
    .map((each) => each.replaceAll(String.raw`\.`, '.').replaceAll(String.raw`\/`, '/'))
  return names.every((each) => name.test(each)) ? names : undefined
}

/** Whether the program of an argv has one of the names. A name with a folder has to be the whole argument. */
export const isNamed = (program: string, names: readonly string[]): boolean => {
  const plain = (text: string): string => text.replace(/^\.\//, '')
  const base = program.slice(program.lastIndexOf('/') + 1)
  return names.some((each) => (plain(each).includes('/') ? plain(each) === plain(program) : plain(each) === base))
}
