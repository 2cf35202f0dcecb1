/** Which paths the rules of a task allow at present: a person may have changed them since the run that was refused. Pure. */
import type { Task } from '../../domain/task.ts'
import { foldedMatcher, parsePathRule, pathMatcher, type PathRule } from '../policy/path-rule.ts'

const rulesOf = (texts: readonly string[]): PathRule[] =>
  texts.flatMap((text) => {
    const parsed = parsePathRule(text)
    return parsed.ok ? [parsed.rule] : []
  })

export const coveredPaths = (
  { allowedPaths, deniedPaths }: Pick<Task, 'allowedPaths' | 'deniedPaths'>,
  paths: readonly string[],
): string[] => {
  const allows = rulesOf(allowedPaths).map(pathMatcher)
  const denies = rulesOf(deniedPaths).map(foldedMatcher)
  return paths.filter((path) => allows.some((matches) => matches(path)) && !denies.some((matches) => matches(path)))
}

/** Whether this text, as a rule, means this path and no other. */
export const isLiteralRule = (path: string): boolean => {
  const parsed = parsePathRule(path)
  return parsed.ok && 'literal' in parsed.rule && parsed.rule.literal === path
}
