/** Compares what an agent changed with the paths that its task may change. */
import { AppError } from '../../errors.ts'
import { checkPathPolicy, type PathPolicyVerdict } from '../../recovery/policy/path-policy.ts'
import { parsePathRule, type PathRule } from '../../recovery/policy/path-rule.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import type { RunContext } from '../core/run-context.ts'
import { secretLines } from './secret-lines.ts'

/** Read from the tree that will be committed: in the work tree, a check that the agent wrote could change the link. */
const linkTargets = async (runContext: RunContext, found: ChangeList): Promise<Map<string, string>> => {
  const targets = new Map<string, string>()
  for (const { path } of found.changes.filter((candidate) => candidate.newMode === '120000')) {
    targets.set(path, await runContext.context.ports.git.linkTarget(runContext.context.shadow, found.tree, path))
  }
  return targets
}

/**
 * Rules were validated with the goal. A rule that cannot be read now fails the run: skipping it would permit what it
 * forbids.
 */
const rulesOf = (texts: string[]): PathRule[] =>
  texts.map((text) => {
    const parsed = parsePathRule(text)
    if (!parsed.ok) throw new AppError('INPUT_INVALID', `the path rule "${text}" cannot be used: ${parsed.reason}`)
    return parsed.rule
  })

/**
 * Holds configuration and instructions for later agents: an agent that writes there could widen its own permissions.
 */
const ownersFolder = '.unstuck'

/** Files that git would store with other content than the agent wrote. */
const encoded = ({ leftOut }: ChangeList): PathPolicyVerdict['violations'] =>
  leftOut.flatMap(({ path, encoding }) => (encoding === undefined ? [] : [{ path, kind: 'encoding', rule: encoding }]))

/** The violations of the task's paths in a set of changes, including secrets, links and re-encoded files. */
export const checkChangedPaths = async (runContext: RunContext, found: ChangeList): Promise<PathPolicyVerdict> => {
  const { task, context } = runContext
  const checked = checkPathPolicy({
    changes: found.changes,
    allowedPaths: rulesOf(task.allowedPaths),
    deniedPaths: rulesOf([...task.deniedPaths, ...context.config().deniedPaths, ownersFolder]),
    nestedRepositories: found.nestedRepositories,
    secretLines: (await secretLines(runContext, found)).found,
    symlinkTargets: await linkTargets(runContext, found),
  })
  return { ...checked, violations: [...checked.violations, ...encoded(found)] }
}
