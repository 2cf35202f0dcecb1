/** Compares what an agent changed with the paths that its task may change. */
import { checkPathPolicy, type PathPolicyVerdict } from '../../recovery/policy/path-policy.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import { deniedTexts, effectivePaths, pathRulesOf } from '../core/effective-paths.ts'
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

/** Files that git would store with other content than the agent wrote. */
export const encoded = ({ leftOut }: Pick<ChangeList, 'leftOut'>): PathPolicyVerdict['violations'] =>
  leftOut.flatMap(({ path, encoding }) => (encoding === undefined ? [] : [{ path, kind: 'encoding', rule: encoding }]))

/** The violations of the task's paths in a set of changes, including secrets, links and re-encoded files. */
export const checkChangedPaths = async (runContext: RunContext, found: ChangeList): Promise<PathPolicyVerdict> => {
  const checked = checkPathPolicy({
    changes: found.changes,
    allowedPaths: await effectivePaths(runContext),
    deniedPaths: pathRulesOf(deniedTexts(runContext)),
    nestedRepositories: found.nestedRepositories,
    secretLines: (await secretLines(runContext, found)).found,
    symlinkTargets: await linkTargets(runContext, found),
  })
  // Work in place is not committed, so no filter has to store it.
  const inPlace = runContext.goal.repoMode === 'direct'
  const stored = inPlace ? { leftOut: found.leftOut.filter(({ lacksFilter }) => lacksFilter === undefined) } : found
  return { ...checked, violations: [...checked.violations, ...encoded(stored)] }
}
