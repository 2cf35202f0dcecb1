/** Which paths may be allowed without a person: the checks that come before every rule and every answer of a model. Pure. */
import { areasOf, overlapOf } from '../../domain/area.ts'
import { foldPath } from './fold.ts'
import { foldedMatcher, parsePathRule } from './path-rule.ts'

const maxShown = 200

/** A path in a sentence for people: quoted if it has unusual characters, with escapes for those that cannot be seen, and cut. */
export const shownPath = (path: string): string => {
  const cut = path.length > maxShown ? `${path.slice(0, maxShown)}…` : path
  if (/^[\w./[\]()@+~-]+$/.test(cut)) return cut
  return JSON.stringify(cut).replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

const isOdd = (segment: string): boolean => segment === '' || segment === '.' || segment === '..'

/**
 * Why a path may not be allowed; undefined = it may. A name with `*`, `?` or `{a,b}` is refused, because as an allowed path it
 * would be read as a glob. Brackets are ordinary characters.
 */
export const unsafeBecause = (path: string): string | undefined => {
  if (path === '') return 'the path is empty'
  if (path.length > 1024) return 'the path is longer than 1024 characters'
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(path)) return 'the name contains a control character'
  if (/[\p{Cs}\uFFFD]/u.test(path)) return 'the name is not valid UTF-8'
  if (/\p{Cf}/u.test(path)) return 'the name contains an invisible character'
  if (path.includes('\\')) return 'the name contains a backslash'
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return 'the path is absolute'
  if (path.split('/').includes('..')) return 'the path leaves the repository with ".."'
  if (path.split('/').some(isOdd)) return 'the path has an empty or "." segment'
  const folded = foldPath(path).split('/')
  if (folded.includes('.git')) return 'the path is inside a .git folder'
  if (folded[0] === '.unstuck' || folded[0] === '.worktreeinclude')
    return 'the path is a setting of Unstuck, which only a person may allow'
  const parsed = parsePathRule(path)
  if (!parsed.ok) return parsed.reason.replace(/^it /, 'the path ')
  return 'literal' in parsed.rule ? undefined : 'the name would be read as a glob'
}

/** Returns the denied path that covers a path; undefined = none. A rule that cannot be read denies everything. */
export const deniedMatcher = (deniedPaths: readonly string[]): ((path: string) => string | undefined) => {
  const rules = deniedPaths.map((text) => {
    const parsed = parsePathRule(text)
    return { text, covers: parsed.ok ? foldedMatcher(parsed.rule) : (): boolean => true }
  })
  return (path) => rules.find(({ covers }) => covers(path))?.text
}

/** An area in which another task works. */
export interface HeldArea {
  area: string
  /** The other task, as people know it. */
  by: string
}

/** The area of another task that contains the path or lies inside it; undefined = none. */
export const holderOf = (path: string, held: readonly HeldArea[]): HeldArea | undefined =>
  held.find(({ area }) => {
    const areas = [area.replace(/\/+$/, ''), ...areasOf({ targetArea: null, allowedPaths: [area] })]
    return overlapOf([path], areas) !== undefined
  })
