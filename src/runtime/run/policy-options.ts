/**
 * What can be done, without an agent, about changed paths outside a task. It collects the facts; the playbooks of rung 5 choose.
 * Denied paths, secrets, nested repositories and links out of the repository have no option but the agent's own correction.
 */
import { taskNameInside } from '../../domain/task-title.ts'
import { foldersAbove } from '../../domain/folders-above.ts'
import { learnedPatternFor } from '../../domain/path-grant.ts'
import { isExcluded, type Excluded } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import type { PathOptions } from '../../recovery/diagnosis/direct-evidence.ts'
import { autoAllowFor, type AutoAllow, type HeldArea, type PathTask } from '../../recovery/policy/auto-allow.ts'
import { generatedMatcher, isLikelyGeneratedArtifactPath } from '../../recovery/policy/generated.ts'
import type { Violation } from '../../recovery/policy/path-policy.ts'
import { recoveriesOfRun, type Recovery } from '../../store/recovery.ts'
import { tasksHoldingAreas } from '../../store/area-hold.ts'
import type { ChangeList, FileChange } from '../../workspace/repository-types.ts'
import { deniedTexts } from '../core/effective-paths.ts'
import { learnedPatterns } from '../core/granted-paths.ts'
import type { Context } from '../core/context.ts'
import type { RunContext } from '../core/run-context.ts'

const absent = '000000'
const isPlainFile = (mode: string): boolean => mode === absent || mode === '100644' || mode === '100755'

export type DecidedPath = { path: string } & AutoAllow

type OfTask = Pick<RunContext, 'context' | 'task'>

const pathTaskOf = ({ context, task }: OfTask): PathTask => {
  const { role, title, instructions, commands, contextFiles, allowedPaths } = task
  return {
    role,
    title,
    instructions,
    commands,
    contextFiles,
    allowedPaths,
    deniedPaths: deniedTexts({ context, task }),
  }
}

/** Areas in which other tasks work. */
export const heldByOthers = async ({ context, task }: OfTask): Promise<HeldArea[]> =>
  (await tasksHoldingAreas(context.db))
    .filter(({ id }) => id !== task.id)
    .flatMap(({ areas, number, title }) => areas.map((area) => ({ area, by: taskNameInside({ number, title }) })))

/** The folders above some paths in which nothing else is: neither a file of the base nor another change. */
const foldersOfTheirOwn = async (
  { context }: Pick<RunContext, 'context'>,
  found: ChangeList,
  paths: readonly string[],
): Promise<Set<string>> => {
  const listed = new Set(paths)
  const others = new Set(
    found.changes.filter(({ path }) => !listed.has(path)).flatMap(({ path }) => foldersAbove(path)),
  )
  const candidates = [...new Set(paths.flatMap(foldersAbove))].filter((folder) => !others.has(folder))
  const present = await context.ports.git.presentAt(context.shadow, found.base, candidates)
  return new Set(candidates.filter((folder) => !present.has(folder)))
}

const unique = (entries: readonly Excluded[]): Excluded[] => [
  ...new Map(entries.map((entry) => [entry.path, entry])).values(),
]

/** Names whole folders where possible: a coverage report has thousands of files, and the next one has others. */
const asFolders = async (
  runContext: RunContext,
  found: ChangeList,
  entries: readonly Excluded[],
): Promise<Excluded[]> => {
  const own = await foldersOfTheirOwn(
    runContext,
    found,
    entries.map(({ path }) => path),
  )
  return unique(
    entries.map((entry) => {
      const folder = foldersAbove(entry.path).find((above) => own.has(above))
      return folder === undefined ? entry : { ...entry, path: `${folder}/` }
    }),
  )
}

/** The same for files that look generated, but only folders that look so themselves: the path may be learned. */
const asGenerated = async (
  runContext: RunContext,
  found: ChangeList,
  paths: readonly string[],
): Promise<Excluded[]> => {
  const own = await foldersOfTheirOwn(runContext, found, paths)
  return unique(
    paths.map((path) => {
      const pattern = learnedPatternFor(path, {
        isGenerated: isLikelyGeneratedArtifactPath,
        isTracked: (folder) => !own.has(folder),
      })
      const because = 'it looks generated, and the checks make it again'
      return { path: pattern === path ? path : `${pattern}/`, because, unproven: true }
    }),
  )
}

/** New files that the ignore files of the base, the owner's patterns or a learned path call generated. */
const generatedBy = async (
  runContext: RunContext,
  found: ChangeList,
  paths: readonly string[],
): Promise<Excluded[]> => {
  const { context } = runContext
  const { generatedPaths, extraGeneratedPaths } = context.config().policyRecovery
  const ignored = await context.ports.git.ignoredAt(context.shadow, found.base, paths)
  const byOwner = generatedMatcher([...generatedPaths, ...extraGeneratedPaths])
  const byLearning = generatedMatcher(await learnedPatterns(context.db, context))
  return paths.flatMap((path) => {
    const [owner, learned] = [byOwner(path), byLearning(path)]
    if (ignored.has(path)) return [{ path, because: 'the ignore files of the repository cover it' }]
    if (owner !== undefined) return [{ path, because: `it is generated, by the pattern ${owner}` }]
    return learned === undefined ? [] : [{ path, because: `it is generated, as learned earlier (${learned})` }]
  })
}

/** The recoveries of this run that were spent on its paths. */
const pastOf = async ({ context, run }: RunContext): Promise<Recovery[]> =>
  (await recoveriesOfRun(context.db, run.id)).filter(({ label }) => label === 'policy_violation')

/** What no check made again, so a part of it is not tried once more. */
const unprovenIn = (past: readonly Recovery[]): Excluded[] =>
  past.flatMap(({ action, status }) =>
    action.name === 'DISCARD_GENERATED' && status === 'failed' ? (action['excluded'] as Excluded[]) : [],
  )

const changeOf = (found: ChangeList, path: string): FileChange | undefined =>
  found.changes.find((change) => change.path === path)

/** The options of phase `policy`, in the order of the playbooks. A path has at most one option for each playbook. */
export const policyOptions = async (
  runContext: RunContext,
  found: ChangeList,
  violations: readonly Violation[],
): Promise<PathOptions> => {
  const { context, goal, task, run } = runContext
  const { attempts, useLlm } = context.config().policyRecovery
  const past = await pastOf(runContext)
  if (attempts === 0) return {}
  const asked = past.filter(({ action }) => action.name === 'ASK_ABOUT_PATHS').length
  const outside = violations.filter(({ kind }) => kind === 'outside').map(({ path }) => path)
  // In the user's own folder nothing is left out: a file there is the user's.
  const fresh = goal.repoMode === 'direct' ? [] : outside.filter((path) => changeOf(found, path)?.oldMode === absent)
  const exclude = await generatedBy(runContext, found, fresh)
  const covered = new Set(exclude.map(({ path }) => path))
  const rest = outside.filter((path) => !covered.has(path))
  const [asTask, held, policy] = [pathTaskOf(runContext), await heldByOthers(runContext), context.pathPolicy()]
  const plain = rest.filter((path) => {
    const change = changeOf(found, path)
    return change !== undefined && isPlainFile(change.newMode) && isPlainFile(change.oldMode)
  })
  const decide = autoAllowFor(asTask, policy, held)
  const results = plain.map((path) => ({ path, result: decide(path) }))
  const allow = results.flatMap(({ path, result: { allowed, rule, because } }) =>
    allowed ? [{ path, rule, because }] : [],
  )
  const allowed = new Set(allow.map(({ path }) => path))
  const refused = new Set(run.verdict?.refused ?? [])
  // What a rule refuses, such as a path where another task works, no model may allow.
  const ask = results.flatMap(({ path, result }) => (result.rule === 'no_rule' && !refused.has(path) ? [path] : []))
  const isOpen = (path: string): boolean => !covered.has(path) && !allowed.has(path) && !refused.has(path)
  const unproven = unprovenIn(past)
  const likely = fresh.filter(
    (path) => isOpen(path) && !isExcluded(path, unproven) && isLikelyGeneratedArtifactPath(path),
  )
  return {
    exclude: await asFolders(runContext, found, exclude),
    allow,
    ...(useLlm && task.role !== 'docser' && asked < attempts ? { ask } : {}),
    ...(task.role === 'docser' ? {} : { discard: await asGenerated(runContext, found, likely) }),
  }
}

/** What the rules decide now about changed paths of a task whose run is over: areas and the owner's settings may have changed. */
export const pathDecisions = async (
  context: Context,
  task: Task,
  outside: readonly string[],
): Promise<DecidedPath[]> => {
  if (outside.length === 0) return []
  const decide = autoAllowFor(
    pathTaskOf({ context, task }),
    context.pathPolicy(),
    await heldByOthers({ context, task }),
  )
  return outside.map((path) => ({ path, ...decide(path) }))
}
