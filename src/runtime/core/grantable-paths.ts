/** Which paths may be granted or learned at all, and why others may not. Reads no store: `exec` uses it as well. */
import { foldPath } from '../../recovery/policy/fold.ts'
import { foldedMatcher, parsePathRule, type PathRule } from '../../recovery/policy/path-rule.ts'
import { secretRuleFor } from '../../recovery/policy/secrets.ts'
import { isLiteralRule } from '../../recovery/requeue/covered-paths.ts'
import type { Context } from './context.ts'

/** The owner's configuration, and the list of ignored files that every clone gets: an agent that writes there could widen its own permissions. */
export const ownersPaths: readonly string[] = ['.unstuck', '.worktreeinclude']

type Configured = Pick<Context, 'config'>

/** A path that the rule can match, to hold a glob against the rules for paths. */
const exampleOf = (rule: PathRule): string => ('literal' in rule ? rule.literal : rule.glob.replaceAll(/[*?]+/g, 'x'))

const covers = (texts: readonly string[], path: string): string | undefined =>
  texts.find((text) => {
    const parsed = parsePathRule(text)
    // A rule that cannot be read could forbid anything.
    return !parsed.ok || foldedMatcher(parsed.rule)(path)
  })

/**
 * Why a path cannot be granted or learned, as the end of a sentence that begins with the path; undefined = it can. `denied` are the
 * denied paths of the task.
 */
export const refusedPathReason = (
  text: string,
  { config }: Configured,
  denied: readonly string[] = [],
): string | undefined => {
  const parsed = parsePathRule(text)
  if (!parsed.ok) return parsed.reason
  if (/[\p{Cc}\p{Cf}\uFFFD\\]/u.test(text)) return 'its name has characters that cannot be seen, or a backslash'
  if ('glob' in parsed.rule && /^[*/]*$/.test(parsed.rule.glob)) return 'it covers the whole repository; name a folder'
  const path = exampleOf(parsed.rule)
  if (foldPath(path).split('/').includes('.git')) return 'it belongs to git'
  const ofOwner = covers(ownersPaths, path)
  if (ofOwner !== undefined) return `"${ofOwner}" holds your configuration, which no agent may change`
  const configured = covers(config().deniedPaths, path)
  if (configured !== undefined) return `"${configured}" is in deniedPaths of the configuration; remove it there first`
  const own = covers(denied, path)
  if (own !== undefined) return `the task denies "${own}"; change that first with "unstuck edit <task> --deny …"`
  const secret = secretRuleFor(path)
  return secret === undefined ? undefined : `names like "${secret}" are those of secrets, which no setting allows`
}

export interface RefusedPath {
  path: string
  reason: string
}

/** Which changed paths a person may allow as they are, and why the others cannot be allowed. */
export const splitGrantable = (
  paths: readonly string[],
  context: Configured,
  denied: readonly string[],
): { grantable: string[]; refused: RefusedPath[] } => {
  const refused = paths.flatMap((path): RefusedPath[] => {
    const reason = refusedPathReason(path, context, denied)
    if (reason !== undefined) return [{ path, reason }]
    return isLiteralRule(path) ? [] : [{ path, reason: 'its name would be read as a glob, which covers other files' }]
  })
  return { grantable: paths.filter((path) => !refused.some((each) => each.path === path)), refused }
}
