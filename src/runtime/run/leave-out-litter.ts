/**
 * Leaves out of the collected work, before anything looks at it, what is no work whatever the task allows: litter of tools, files that
 * the owner's patterns or learned paths call generated, and entries with the name of an ignored folder. Only what is new; the verdict
 * names it.
 */
import { foldersAbove } from '../../domain/folders-above.ts'
import { isExcluded, keptVerdict, type Excluded } from '../../domain/run.ts'
import { isGivenBack } from '../../domain/task.ts'
import { builtInGeneratedPaths, generatedMatcher } from '../../recovery/policy/generated.ts'
import { litterAt, namesLitter, ruleNames } from '../../recovery/policy/litter.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import { withoutExcluded } from '../agent/collected.ts'
import { learnedPatterns } from '../core/granted-paths.ts'
import { saveProgress, type RunContext } from '../core/run-context.ts'

const absent = '000000'

/** Litter in a folder of which the base commit has files is left to the task: there the repository keeps such files. */
const litterIn = async (
  { context, task }: RunContext,
  found: ChangeList,
  paths: readonly string[],
): Promise<Excluded[]> => {
  const some = paths.flatMap((path) => {
    const { by, glob } = litterAt(path) ?? {}
    return by === undefined || namesLitter(path, task) ? [] : [{ path, because: `${by} leaves such files (${glob})` }]
  })
  const folders = some.flatMap(({ path }) =>
    foldersAbove(path).filter((folder) => litterAt(`${folder}/x`) !== undefined),
  )
  if (folders.length === 0) return some
  const kept = await context.ports.git.presentAt(context.shadow, found.base, [...new Set(folders)])
  return some.filter(({ path }) => !foldersAbove(path).some((folder) => kept.has(folder)))
}

const generatedIn = async ({ context, task }: RunContext, paths: readonly string[]): Promise<Excluded[]> => {
  const { generatedPaths, extraGeneratedPaths, attempts } = context.config().policyRecovery
  if (attempts === 0) return []
  const own = [...generatedPaths, ...extraGeneratedPaths].filter((pattern) => !builtInGeneratedPaths.includes(pattern))
  const byOwner = generatedMatcher(own)
  const byLearning = generatedMatcher(await learnedPatterns(context.db, context))
  return paths.flatMap((path) => {
    const isOne = (candidate: string): boolean => (byOwner(candidate) ?? byLearning(candidate)) !== undefined
    if (task.allowedPaths.some((rule) => ruleNames(rule, path, isOne))) return []
    const [owner, learned] = [byOwner(path), byLearning(path)]
    if (owner !== undefined) return [{ path, because: `it is generated, by the pattern ${owner}` }]
    return learned === undefined ? [] : [{ path, because: `it is generated, as learned earlier (${learned})` }]
  })
}

/** A link or file in the place of a folder that git ignores: `node_modules/` does not cover a link of that name. */
const inPlaceOfFolder = async (
  { context }: RunContext,
  found: ChangeList,
  paths: readonly string[],
): Promise<Excluded[]> => {
  const named = paths.map((path) => `${path}/`)
  const ignored = await context.ports.git.ignoredAt(context.shadow, found.base, named)
  return paths
    .filter((path) => ignored.has(`${path}/`))
    .map((path) => ({ path, because: 'the ignore files of the repository cover a folder of this name' }))
}

export const leaveOutLitter = async (runContext: RunContext, found: ChangeList): Promise<ChangeList> => {
  const { goal, run, task } = runContext
  // In the user's own folder, and in what a person did, every file is theirs.
  if (goal.repoMode === 'direct' || isGivenBack(task)) return found
  const fresh = found.changes.filter(({ oldMode }) => oldMode === absent)
  if (fresh.length === 0) return found
  const paths = fresh.map(({ path }) => path)
  const links = fresh.filter(({ newMode }) => newMode === '120000').map(({ path }) => path)
  const entries = [
    ...(await litterIn(runContext, found, paths)),
    ...(await generatedIn(runContext, paths)),
    ...(links.length === 0 ? [] : await inPlaceOfFolder(runContext, found, links)),
  ]
  if (entries.length === 0) return found
  const kept = keptVerdict(run.verdict)
  const known = kept.excluded ?? []
  const added = entries.filter(
    ({ path }, at) => !isExcluded(path, known) && entries.findIndex((other) => other.path === path) === at,
  )
  await saveProgress(runContext, { verdict: { ...kept, excluded: [...known, ...added] } })
  runContext.collected = await withoutExcluded(runContext, found, added)
  return runContext.collected
}
