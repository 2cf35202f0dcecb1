/** Which files of the repository are part of the plan of a loop: `loop.plan_files`. */
import { pathMatcher } from '../../../recovery/policy/path-rule.ts'
import { pathRulesOf } from '../../core/effective-paths.ts'
import type { RunContext } from '../../core/run-context.ts'

export const planFileMatcher = ({ context }: Pick<RunContext, 'context'>): ((path: string) => boolean) => {
  const matchers = pathRulesOf(context.config().loop.plan_files).map(pathMatcher)
  return (path) => matchers.some((matches) => matches(path))
}
