/**
 * Whether a change of the owner's settings allows more (it widens), allows less (it narrows) or neither. One table; a key that it does not
 * list widens by any change, so that a new key is safe until somebody has thought about it. Pure.
 */

export type Settings = Record<string, unknown>
export type Direction = 'widening' | 'narrowing' | 'free'

export interface SettingChange {
  /** As a person writes it: `recovery.auto_approve`. */
  key: string
  direction: Direction
  before: unknown
  after: unknown
}

/**
 * `grants`: a list; an entry more allows more. `denies`: a list; an entry less allows more. `most`: a number; higher allows more, and -1
 * or none is no limit. `count`: the same, but none is 0. `wait`: a number; lower allows more. `on`: true allows more. `off`: false
 * allows more. A list of words: a later one allows more. `free`: gives nobody anything. `any`: every change allows more.
 */
type Kind = 'grants' | 'denies' | 'most' | 'count' | 'wait' | 'on' | 'off' | 'free' | 'any' | readonly string[]

/** `*` stands for one part of a key; the first row that matches counts. */
const table: readonly (readonly [pattern: string, kind: Kind])[] = [
  ['harness.*.env', 'grants'],
  ['harness.*.unrestricted', 'on'],
  ['harness.*.*', 'any'],
  ['harness.*', 'any'],
  ['allowedDirs', 'grants'],
  ['env', 'grants'],
  ['deniedPaths', 'denies'],
  ['autoMerge', 'on'],
  ['repoMode', ['local', 'direct']],
  ['maxParallel', 'count'],
  ['limits.*', 'most'],
  // Without the list the checks are inferred, so even a new entry can mean fewer of them.
  ['verify.commands', 'any'],
  ['verify.knownFailures', 'grants'],
  ['verify.skipMissingExplicitScript', 'on'],
  ['verify.*', 'most'],
  ['workspace.setup', 'any'],
  ['workspace.copy', 'grants'],
  ['workspace.filters', 'grants'],
  ['workspace.setupSeconds', 'most'],
  ['change.*', 'most'],
  ['judge.mode', ['human', 'llm', 'auto']],
  // A rule less, or one for fewer paths, lets more work land without a look at it.
  ['judge.rules', 'denies'],
  ['judge.harness', 'any'],
  ['judge.model', 'any'],
  ['judge.maxRisk', ['low', 'medium', 'high']],
  ['judge.requiredChecks', 'denies'],
  ['judge.timeoutSeconds', 'free'],
  ['judge.retries', 'count'],
  ['judge.retrySeconds', 'free'],
  // It decides how goals are divided, and nothing that an agent may do.
  ['planner.mode', 'free'],
  ['planner.replans', 'count'],
  ['forge.kind', ['off', 'github']],
  // They say to whom the token is given, and whose words become work.
  ['forge.repository', 'any'],
  ['forge.apiUrl', 'any'],
  ['forge.command', 'any'],
  ['forge.label', 'any'],
  ['forge.authors', 'grants'],
  ['forge.pullRequests', 'any'],
  // More of the work becomes public.
  ['forge.comments', ['off', 'goal']],
  ['forge.pollSeconds', 'free'],
  ['policyRecovery.useLlm', 'on'],
  ['policyRecovery.attempts', 'count'],
  ['policyRecovery.generatedPaths', 'grants'],
  ['policyRecovery.extraGeneratedPaths', 'grants'],
  ['policyRecovery.grantDays', 'count'],
  ['policyRecovery.timeoutSeconds', 'free'],
  ['policyRecovery.model', 'any'],
  ['recovery.enabled', 'on'],
  ['recovery.auto_approve', 'grants'],
  ['recovery.require_human', 'denies'],
  ['recovery.max_auto_recoveries_per_run', 'count'],
  ['recovery.cooldown_seconds', 'wait'],
  ['recovery.on_unknown', ['deny', 'escalate', 'allow']],
  ['playbooks.disabled', 'denies'],
  ['git.signCommits', 'off'],
  ['git.*', 'free'],
  ['storage.maxGb', 'free'],
  ['mcp.enabled', 'on'],
  ['mcp.waitSeconds', 'free'],
  // What ends a loop as complete, and what its planner may change.
  ['loop.completion_promise', 'any'],
  ['loop.plan_files', 'any'],
  ['loop.roles.*.*', 'any'],
  ['loop.max_iterations', 'most'],
  ['loop.stuck_threshold', 'most'],
  // A changed destination lets others read the notifications, or keeps the owner from reading them.
  ['webhooks.on_escalation', 'any'],
  ['webhooks.secret', 'any'],
  ['webhooks.style', 'any'],
  ['webhooks.events', 'denies'],
  ['notify.desktop', 'off'],
  ['notify.*', 'any'],
  ...['lease', 'lanes', 'admission', 'retry', 'requeue', 'stall', 'doomLoop', 'remote'].map(
    (section) => [`${section}.*`, 'free'] as const,
  ),
  ['policy-recovery.mode', ['conservative', 'balanced', 'aggressive']],
  ['policy-recovery.*', 'grants'],
  ['verify.contract.commands', 'denies'],
  ['verify.contract.byRole.*', 'denies'],
  ['verify.contract.rules', 'denies'],
  // One that changed does something else; one that is removed does nothing any more.
  ['playbook.*', 'grants'],
]

const matches = (pattern: string, key: string): boolean => {
  const [wanted, parts] = [pattern.split('.'), key.split('.')]
  return wanted.length === parts.length && wanted.every((part, at) => part === '*' || part === parts[at])
}

const rowOf = (key: string) => table.find(([pattern]) => matches(pattern, key))
const kindOf = (key: string): Kind => rowOf(key)?.[1] ?? 'any'

/** Whether the table has a row for the key; for a section with free names, for each key in it. */
export const hasDirection = (key: string): boolean =>
  rowOf(key) !== undefined || table.some(([pattern]) => pattern.startsWith(`${key}.`))

const sameValue = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const lacks = (list: unknown, entry: unknown): boolean => !listOf(list).some((other) => sameValue(other, entry))

/** How much a single value allows, comparable within its kind. */
const sizeOf = (kind: Exclude<Kind, 'grants' | 'denies' | 'free' | 'any'>, value: unknown): number => {
  if (typeof kind !== 'string') return kind.indexOf(String(value))
  if (kind === 'on' || kind === 'off') return (value === true) === (kind === 'on') ? 1 : 0
  if (kind === 'wait') return value === undefined ? -Infinity : -Number(value)
  if (value === undefined) return kind === 'most' ? Infinity : 0
  return value === -1 ? Infinity : Number(value)
}

interface Judged {
  direction: Direction
  /** What both the old and the new value allow. */
  common: unknown
}

const judgeList = (kind: 'grants' | 'denies', before: unknown, after: unknown): Judged => {
  const gone = listOf(before).filter((entry) => lacks(after, entry))
  const added = listOf(after).filter((entry) => lacks(before, entry))
  const more = kind === 'grants' ? added : gone
  const direction = more.length > 0 ? 'widening' : gone.length + added.length > 0 ? 'narrowing' : 'free'
  const common =
    kind === 'grants' ? listOf(after).filter((entry) => !lacks(before, entry)) : [...listOf(after), ...gone]
  return { direction, common: before === undefined && common.length === 0 ? undefined : common }
}

const judge = (key: string, before: unknown, after: unknown): Judged => {
  const kind = kindOf(key)
  if (kind === 'free') return { direction: 'free', common: before }
  if (kind === 'any') return { direction: 'widening', common: before }
  if (kind === 'grants' || kind === 'denies') return judgeList(kind, before, after)
  const grows = sizeOf(kind, after) - sizeOf(kind, before)
  if (grows > 0 || Number.isNaN(grows)) return { direction: 'widening', common: before }
  return { direction: grows < 0 ? 'narrowing' : 'free', common: after }
}

const isSection = (value: unknown): value is Settings =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `harness.named.codex.args` as the file has it: `harness.codex.args`. */
const shownKey = (path: readonly string[]): string =>
  (path[0] === 'harness' && path[1] === 'named' ? ['harness', ...path.slice(2)] : path).join('.')

const leaves = (value: unknown, path: readonly string[] = []): (readonly [path: readonly string[], value: unknown])[] =>
  isSection(value) ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key])) : [[path, value]]

const at = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, key) => (isSection(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined), value)

const pathsOf = (before: Settings, after: Settings): (readonly string[])[] => {
  const all = [...leaves(before), ...leaves(after)].map(([path]) => path)
  return all.filter((path, index) => all.findIndex((other) => sameValue(other, path)) === index)
}

/**
 * Without the section no command of an agent runs, so none of its lists allows anything. `enabled: false` is not enough: what the lists
 * came to allow meanwhile would apply without a question once the owner switches it on.
 */
const isRemoved = (path: readonly string[], after: Settings): boolean =>
  path[0] === 'recovery' && after.recovery === undefined

/** The changed settings in the order of the old ones, then new ones. */
export const settingChanges = (before: object, after: object): SettingChange[] => {
  const [old, now] = [before as Settings, after as Settings]
  return pathsOf(old, now).flatMap((path) => {
    const change = { key: shownKey(path), before: at(old, path), after: at(now, path) }
    if (sameValue(change.before, change.after)) return []
    const { direction } = judge(change.key, change.before, change.after)
    return [{ ...change, direction: isRemoved(path, now) ? 'narrowing' : direction }]
  })
}

const merged = (before: unknown, after: unknown, path: readonly string[]): unknown => {
  if (sameValue(before, after)) return before
  // A new section is not there yet. One that was removed is off at once, but a harness may be in use.
  if (before === undefined && isSection(after)) return undefined
  if (isSection(before) && after === undefined) return path[0] === 'harness' ? before : undefined
  if (!isSection(before) || !isSection(after)) return judge(shownKey(path), before, after).common
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const entries = keys.map((key) => [key, merged(before[key], after[key], [...path, key])] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** What both allow: the old settings with only those changes that allow less. `under` is the key under which they are in the table. */
export const narrowedSettings = <T extends object>(before: T, after: T, ...under: string[]): T =>
  before === after ? before : (merged(before, after, under) as T)
