/**
 * Whether a path outside of a task's allowed paths may be allowed without a person and without a model. The order of the checks is
 * fixed: safety, denied, secret, docs task, area of another task; only then the rules of the mode. Total and deterministic.
 *
 * It judges a name. Nested repositories and symlinks out of the repository have violations of their own kind (`path-policy.ts`)
 * and must not be passed here.
 */
import type { Role } from '../../domain/task.ts'
import { commandRulePaths, coversPath, type CommandRulePath } from './command-rules.ts'
import { commandNamesOf } from './command-names.ts'
import { infraSignals, type InfraSignals } from './infra-signals.ts'
import { deniedMatcher, holderOf, shownPath, unsafeBecause, type HeldArea } from './path-safety.ts'
import { recoveryModes, type PolicyRecovery, type RecoveryMode } from './recovery-policy.ts'
import { secretRuleFor } from './secrets.ts'

export type { HeldArea } from './path-safety.ts'

export interface PathTask {
  role: Role
  title: string
  instructions: string
  commands: readonly string[]
  /** Files that the task lists as its context: exact paths, no globs. */
  contextFiles: readonly string[]
  allowedPaths: readonly string[]
  /** Those of the task and those of the configuration. */
  deniedPaths: readonly string[]
}

export type AllowRule = 'context_file' | 'command_rule' | 'infra_file' | 'root_infra'
export type RefuseRule = 'unsafe_path' | 'denied' | 'secret' | 'docs_task' | 'held_area' | 'no_rule'

/** `because` is a sentence for people. */
export type AutoAllow =
  | { allowed: true; rule: AllowRule; because: string }
  | { allowed: false; rule: RefuseRule; because: string }

const refuse = (rule: RefuseRule, because: string): AutoAllow => ({ allowed: false, rule, because })

/** What is the same for all paths of a task. The expensive parts are computed once, when a path needs them. */
interface Case {
  task: PathTask
  policy: PolicyRecovery
  held: readonly HeldArea[]
  deniedFor: (path: string) => string | undefined
  signals: () => InfraSignals
  commandPaths: () => CommandRulePath[]
}

const once = <T>(compute: () => T): (() => T) => {
  let found: { value: T } | undefined
  return () => (found ??= { value: compute() }).value
}

const caseOf = (task: PathTask, policy: PolicyRecovery, held: readonly HeldArea[]): Case => ({
  ...{ task, policy, held, deniedFor: deniedMatcher(task.deniedPaths) },
  signals: once(() => infraSignals(task, policy)),
  commandPaths: once(() => commandRulePaths(task.commands, policy)),
})

const refusal = (path: string, { task, held, deniedFor }: Case): AutoAllow | undefined => {
  const name = shownPath(path)
  const unsafe = unsafeBecause(path)
  if (unsafe !== undefined) return refuse('unsafe_path', `${name} is not allowed: ${unsafe}.`)
  const denied = deniedFor(path)
  if (denied !== undefined) return refuse('denied', `${name} is covered by the denied path ${shownPath(denied)}.`)
  const secret = secretRuleFor(path)
  if (secret !== undefined) return refuse('secret', `${name} is a secret by its name (${secret}).`)
  if (task.role === 'docser') return refuse('docs_task', `${name} is not allowed: a docs task gets no further paths.`)
  const other = holderOf(path, held)
  if (other === undefined) return undefined
  return refuse('held_area', `${name} is in ${shownPath(other.area)}, where ${other.by} works.`)
}

const baseOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** Further definition files of tools, which are allowed only at the top of the repository. */
const rootDefinitions: Readonly<Record<string, readonly string[]>> = {
  make: ['GNUmakefile', 'makefile'],
  cmake: ['CMakePresets.json'],
  cargo: ['rust-toolchain', 'rust-toolchain.toml'],
  meson: ['meson.build', 'meson_options.txt', 'meson.options'],
}

/** Tools whose files define a native build, whatever compiles it. Other tools define only builds of their own. */
const nativeTools: ReadonlySet<string> = new Set(['make', 'cmake', 'ninja', 'meson'])

/** The tools that a file of this name defines, by the command rules. */
const ownersOf = (base: string, { commandDrivenAllowedPathRules }: PolicyRecovery): string[] =>
  commandDrivenAllowedPathRules
    .filter(({ paths }) => paths.some((path) => baseOf(path) === base))
    .flatMap(({ pattern }) => commandNamesOf(pattern) ?? [])

/** Whether a token is the name of a tool with files of its own. It says nothing about the files of other tools. */
const hasFiles = (token: string, { commandDrivenAllowedPathRules }: PolicyRecovery): boolean =>
  commandDrivenAllowedPathRules.some(({ pattern }) => commandNamesOf(pattern)?.includes(token) === true)

/** The token that connects the task with a build file of this name; undefined = none does. A Cargo.lock needs cargo. */
const tokenFor = (base: string, { tools, build }: InfraSignals, policy: PolicyRecovery): string | undefined => {
  const owners = ownersOf(base, policy)
  const own = tools.find((token) => owners.includes(token))
  if (own !== undefined) return own
  if (owners.length === 0) return tools[0] ?? build[0]
  if (!owners.some((owner) => nativeTools.has(owner))) return undefined
  return tools.find((token) => !hasFiles(token, policy)) ?? build[0]
}

const isInfraFile = (base: string, policy: PolicyRecovery): boolean =>
  policy.safeInfraFileBasenames.includes(base) ||
  policy.safeInfraFileExtensions.some((extension) => base.endsWith(extension) && base !== extension)

const contextFile = (path: string, { task }: Case): string | undefined =>
  task.contextFiles.some((file) => file.replace(/^(?:\.\/)+/, '') === path)
    ? `${shownPath(path)} is listed as context of the task.`
    : undefined

const commandRule = (path: string, { commandPaths }: Case): string | undefined => {
  const found = commandPaths().find((rule) => coversPath(rule.path, path))
  if (found === undefined) return undefined
  return `${shownPath(path)} is needed by the command "${found.command.slice(0, 200)}" (rule ${found.pattern}).`
}

/** A path of a rule, whatever commands the task has: seed policy-recovery, "in-run auto-allow candidates" of `aggressive`. */
const pathOfRule = (path: string, { policy, task: { title, instructions } }: Case): string | undefined => {
  const found = policy.commandDrivenAllowedPathRules.find(({ paths }) => paths.some((rule) => coversPath(rule, path)))
  if (found === undefined) return undefined
  // A text that names the file or the program, and does not ask for it (that would be a build file of the task), forbids it.
  const text = `${title}\n${instructions}`
  const names = [baseOf(path), ...(commandNamesOf(found.pattern) ?? []).map((name) => `\`${name}\``)]
  if (names.some((name) => text.includes(name))) return undefined
  return `${shownPath(path)} is a path of the command rule ${found.pattern}.`
}

const infraFile = (path: string, { policy, signals }: Case): string | undefined => {
  const base = baseOf(path)
  if (!isInfraFile(base, policy)) return undefined
  const token = tokenFor(base, signals(), policy)
  return token === undefined ? undefined : `${shownPath(path)} is a build file, and the task concerns "${token}".`
}

const allRootDefinitions: ReadonlySet<string> = new Set(Object.values(rootDefinitions).flat())

/**
 * A root-level infra file is either a definition file of a tool that the task names, or a hidden file on the safe list in a task
 * that concerns the build. Nothing else at the top is one: not package.json, not a Dockerfile.
 */
const rootInfra = (path: string, { policy, signals }: Case): string | undefined => {
  if (!/^[A-Za-z0-9._-]+$/.test(path)) return undefined
  const hidden = path.startsWith('.')
  if (hidden ? !policy.safeHiddenRootFiles.includes(path) : !allRootDefinitions.has(path)) return undefined
  const { tools, build } = signals()
  const token = hidden
    ? (tools[0] ?? build[0])
    : tools.find((each) => Object.hasOwn(rootDefinitions, each) && rootDefinitions[each]?.includes(path) === true)
  if (token === undefined) return undefined
  return `${shownPath(path)} at the top belongs to the build, and the task concerns "${token}".`
}

/** The sources of automatic grants, the most specific first, with the least permissive mode that has them. */
const sources: readonly {
  rule: AllowRule
  from: RecoveryMode
  because: (path: string, given: Case) => string | undefined
}[] = [
  { rule: 'context_file', from: 'conservative', because: contextFile },
  { rule: 'command_rule', from: 'conservative', because: commandRule },
  { rule: 'infra_file', from: 'balanced', because: infraFile },
  { rule: 'root_infra', from: 'aggressive', because: rootInfra },
  { rule: 'command_rule', from: 'aggressive', because: pathOfRule },
]

const reaches = (mode: RecoveryMode, from: RecoveryMode): boolean =>
  recoveryModes.indexOf(mode) >= recoveryModes.indexOf(from)

const outside = (path: string): string => `${shownPath(path)} is outside of the allowed paths`

/** The reason where nothing at all speaks for the path. Lists of paths say it once. */
export const unconnected = (path: string): string => `${outside(path)}, and no rule connects it with the task.`

const judge = (path: string, given: Case): AutoAllow => {
  const refused = refusal(path, given)
  if (refused !== undefined) return refused
  const { mode } = given.policy
  let wouldAllow: RecoveryMode | undefined
  for (const { rule, from, because } of sources) {
    const found = because(path, given)
    if (found === undefined) continue
    if (reaches(mode, from)) return { allowed: true, rule, because: found }
    if (wouldAllow === undefined || reaches(wouldAllow, from)) wouldAllow = from
  }
  return refuse(
    'no_rule',
    wouldAllow === undefined
      ? unconnected(path)
      : `${outside(path)}. The mode "${wouldAllow}" would allow it; the mode is "${mode}".`,
  )
}

/** Returns the decision about any path of one task. Use it for many paths: the task is read only once. */
export const autoAllowFor = (
  task: PathTask,
  policy: PolicyRecovery,
  held: readonly HeldArea[],
): ((path: string) => AutoAllow) => {
  const given = caseOf(task, policy, held)
  return (path) => judge(path, given)
}

/** Decides about one path. Both sides of a rename are two paths. */
export const autoAllow = (path: string, task: PathTask, policy: PolicyRecovery, held: readonly HeldArea[]): AutoAllow =>
  autoAllowFor(task, policy, held)(path)
