/** Compares what an agent changed with the paths that its task may change. */
import { AppError } from '../../errors.ts'
import { checkPolicy, type PolicyVerdict } from '../../recovery/policy/check.ts'
import { parsePathRule, type PathRule } from '../../recovery/policy/rule.ts'
import type { ChangeList } from '../../workspace/contract.ts'
import type { Session } from '../core/session.ts'
import { secretLines } from './secret-lines.ts'

/** Read from the tree that will be committed: in the work tree, a check that the agent wrote could change the link. */
const linkTargets = async (session: Session, found: ChangeList): Promise<Map<string, string>> => {
  const targets = new Map<string, string>()
  for (const { path } of found.changes.filter((candidate) => candidate.newMode === '120000')) {
    targets.set(path, await session.context.ports.git.linkTarget(session.context.shadow, found.tree, path))
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
const encoded = ({ leftOut }: ChangeList): PolicyVerdict['violations'] =>
  leftOut.flatMap(({ path, encoding }) => (encoding === undefined ? [] : [{ path, kind: 'encoding', rule: encoding }]))

/** The violations of the task's paths in a set of changes, including secrets, links and re-encoded files. */
export const checkFence = async (session: Session, found: ChangeList): Promise<PolicyVerdict> => {
  const { task, context } = session
  const checked = checkPolicy({
    changes: found.changes,
    allowedPaths: rulesOf(task.allowedPaths),
    deniedPaths: rulesOf([...task.deniedPaths, ...context.config().deniedPaths, ownersFolder]),
    nestedRepositories: found.nestedRepositories,
    secretLines: (await secretLines(session, found)).found,
    symlinkTargets: await linkTargets(session, found),
  })
  return { ...checked, violations: [...checked.violations, ...encoded(found)] }
}
