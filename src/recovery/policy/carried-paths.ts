/** Extends a task's allowed paths to the new names of files that were renamed after the task was created. Pure. */
import { pathMatcher, type PathRule } from './path-rule.ts'

const mostCarried = 100

export interface CarriedPath {
  from: string
  to: string
}

/** The new places of files that the rules allow, where the rules do not cover them already. `renames`: the oldest first. */
export const carriedPaths = (rules: readonly PathRule[], renames: readonly CarriedPath[]): CarriedPath[] => {
  const matchers = rules.map(pathMatcher)
  const allows = (path: string): boolean => matchers.some((matches) => matches(path))
  /** By their present places. */
  const origins = new Map<string, string>()
  for (const { from, to } of renames) {
    const origin = origins.get(from) ?? (allows(from) ? from : undefined)
    origins.delete(from)
    if (origin !== undefined) origins.set(to, origin)
  }
  return [...origins]
    .filter(([to]) => !allows(to))
    .map(([to, from]) => ({ from, to }))
    .slice(0, mostCarried)
}
