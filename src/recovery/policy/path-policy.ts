/**
 * Decides which changed paths may enter a commit of Unstuck. It checks the raw list, before any filter for generated or ignored
 * files, in a fixed order: denied, secret, not a plain file (nested repository, symlink out), allowed. Every path is either
 * permitted or has exactly one violation. A rename is a deleted and an added path, so both sides are checked. Symlinks are not
 * followed: the text of the target decides.
 */
import { foldPath } from './fold.ts'
import { foldedMatcher, pathMatcher, ruleText } from './path-rule.ts'
import type { PathRule } from './path-rule.ts'
import { secretRuleFor } from './secrets.ts'

/** A changed path with git's file modes (`120000` symlink, `160000` nested repository, `000000` absent). */
export interface ChangedPath {
  path: string
  oldMode: string
  newMode: string
}

export type ViolationKind = 'denied' | 'secret' | 'nested_repository' | 'symlink_out' | 'outside' | 'encoding'

export interface Violation {
  path: string
  kind: ViolationKind
  /**
   * The violated rule, as written; for `outside` the allowed paths; for a symlink its target; for a secret in the text the
   * names of the rules with the lines. Never the secret.
   */
  rule: string
}

export interface PathPolicyInput {
  changes: readonly ChangedPath[]
  /** An empty list permits nothing; the rule `**` permits everything. */
  allowedPaths: readonly PathRule[]
  deniedPaths: readonly PathRule[]
  /** Folders that are git repositories themselves; they are not part of the change list. */
  nestedRepositories: readonly string[]
  /** Target text of each changed symlink. A symlink that is missing here counts as leading out of the repository. */
  symlinkTargets?: ReadonlyMap<string, string>
  /** Changed files with a secret in a new line, and where it is (`secret-text.ts`). */
  secretLines?: ReadonlyMap<string, string>
}

export interface PathPolicyVerdict {
  permitted: string[]
  violations: Violation[]
}

const symlinkMode = '120000'
const nestedMode = '160000'

/**
 * Whether a symlink stays inside the repository. `..` is only accepted at the start: after a name it starts from wherever that
 * name leads, so a chain of two harmless-looking links could leave the repository.
 */
export const symlinkStaysInside = (path: string, target: string): boolean => {
  if (target === '' || target.startsWith('/') || target.includes('\0')) return false
  const segments = target.split('/').filter((segment) => segment !== '' && segment !== '.')
  const firstName = segments.findIndex((segment) => segment !== '..')
  const climbs = firstName === -1 ? segments.length : firstName
  const names = segments.slice(climbs)
  if (names.includes('..')) return false
  const folder = path.split('/').slice(0, -1)
  if (climbs > folder.length) return false
  const reached = [...folder.slice(0, folder.length - climbs), ...names]
  return !foldPath(reached.join('/')).split('/').includes('.git')
}

const isRepositoryPath = (path: string): boolean =>
  path !== '' &&
  !path.includes('\0') &&
  foldPath(path)
    .split('/')
    .every((segment) => segment !== '' && segment !== '.' && segment !== '..' && segment !== '.git')

interface Rules {
  denied: { text: string; covers: (path: string) => boolean }[]
  allowed: { text: string; covers: (path: string) => boolean }[]
  nested: readonly string[]
  targets: ReadonlyMap<string, string>
  secretLines: ReadonlyMap<string, string>
}

const compile = (rules: readonly PathRule[], matcher: typeof pathMatcher): Rules['denied'] =>
  rules.map((rule) => ({ text: ruleText(rule), covers: matcher(rule) }))

const judge = ({ path, oldMode, newMode }: ChangedPath, rules: Rules): Violation | undefined => {
  const denied = rules.denied.find(({ covers }) => covers(path))
  if (denied !== undefined) return { path, kind: 'denied', rule: denied.text }
  const secret = secretRuleFor(path) ?? rules.secretLines.get(path)
  if (secret !== undefined) return { path, kind: 'secret', rule: secret }
  const nested = rules.nested.find((folder) => path === folder || path.startsWith(`${folder}/`))
  if (nested !== undefined || oldMode === nestedMode || newMode === nestedMode)
    return { path, kind: 'nested_repository', rule: nested ?? path }
  if (newMode === symlinkMode && !symlinkStaysInside(path, rules.targets.get(path) ?? '')) {
    return { path, kind: 'symlink_out', rule: rules.targets.get(path) ?? '(target unknown)' }
  }
  if (!isRepositoryPath(path)) return { path, kind: 'outside', rule: 'not a path that git may store' }
  if (!rules.allowed.some(({ covers }) => covers(path))) {
    return { path, kind: 'outside', rule: rules.allowed.map(({ text }) => text).join(', ') }
  }
  return undefined
}

/** Reports each path once. A path can be listed twice when its type changed; then both entries must pass. */
export const checkPathPolicy = (input: PathPolicyInput): PathPolicyVerdict => {
  const nested = input.nestedRepositories.map((folder) => folder.replace(/\/+$/, ''))
  const rules: Rules = {
    denied: compile(input.deniedPaths, foldedMatcher),
    allowed: compile(input.allowedPaths, pathMatcher),
    nested,
    targets: input.symlinkTargets ?? new Map<string, string>(),
    secretLines: input.secretLines ?? new Map<string, string>(),
  }
  const folders = nested.map((path) => ({ path, oldMode: '000000', newMode: nestedMode }))
  const violations = new Map<string, Violation>()
  for (const change of [...input.changes, ...folders]) {
    const violation = violations.has(change.path) ? undefined : judge(change, rules)
    if (violation !== undefined) violations.set(change.path, violation)
  }
  const permitted = new Set(input.changes.map(({ path }) => path).filter((path) => !violations.has(path)))
  return { permitted: [...permitted], violations: [...violations.values()] }
}
