/** What a run may change: the paths of its task, and those that were granted to the run, its task or its area. */
import { AppError, messageOf } from '../../errors.ts'
import { carriedPaths, type CarriedPath } from '../../recovery/policy/carried-paths.ts'
import { parsePathRule, pathMatcher, ruleText, type PathRule } from '../../recovery/policy/path-rule.ts'
import { liveGrantsFor } from './granted-paths.ts'
import { ownersPaths } from './grantable-paths.ts'
import type { RunContext } from './run-context.ts'

/**
 * Rules were validated when they were written. A rule that cannot be read now fails the run: skipping it would permit what it
 * forbids.
 */
export const pathRulesOf = (texts: readonly string[]): PathRule[] =>
  texts.map((text) => {
    const parsed = parsePathRule(text)
    if (!parsed.ok) throw new AppError('INPUT_INVALID', `the path rule "${text}" cannot be used: ${parsed.reason}`)
    return parsed.rule
  })

/** Denied paths, as texts: those of the task, of the configuration, and those of the owner's configuration. */
export const deniedTexts = ({ task, context }: Pick<RunContext, 'task' | 'context'>): string[] => [
  ...task.deniedPaths,
  ...context.config().deniedPaths,
  ...ownersPaths,
]

/** Commit dates are set by other clocks. */
const marginMs = 3_600_000

/** Where files that a task may change are now, if a commit moved them since the task was made. */
export const carriedSince = async (
  task: { createdAt: Date; allowedPaths: readonly string[] },
  renamesSince: (time: Date) => Promise<CarriedPath[]>,
): Promise<CarriedPath[]> =>
  task.allowedPaths.length === 0
    ? []
    : carriedPaths(pathRulesOf(task.allowedPaths), await renamesSince(new Date(task.createdAt.getTime() - marginMs)))

/** The same for a run, on its base commit. Read once per run. */
export const carriedFor = (runContext: RunContext): Promise<CarriedPath[]> => {
  const { context, run, task } = runContext
  const tip = run.baseCommit
  if (tip === null) return Promise.resolve([])
  runContext.carried ??= carriedSince(task, (since) =>
    context.ports.git.renamesSince(context.repository, { tip, since }),
  ).catch((error: unknown) => {
    // As in a partial clone, whose missing contents git would have to compare. The task keeps its own paths.
    context.log.warn({ run: run.id, error: messageOf(error) }, 'renames could not be read')
    return []
  })
  return runContext.carried
}

export const effectivePaths = async (runContext: RunContext): Promise<PathRule[]> => [
  ...pathRulesOf(runContext.task.allowedPaths),
  ...(await carriedFor(runContext)).map(({ to }) => ({ literal: to })),
  ...pathRulesOf(await liveGrantsFor(runContext.context.db, runContext.context, runContext.task, runContext.run)),
]

/** Whether the run may change a path, apart from what is denied. */
export const effectiveMatcher = async (runContext: RunContext): Promise<(path: string) => boolean> => {
  const matchers = (await effectivePaths(runContext)).map(pathMatcher)
  return (path) => matchers.some((matches) => matches(path))
}

/** The same as texts for people and agents. */
export const effectiveTexts = async (runContext: RunContext): Promise<string[]> => [
  ...new Set((await effectivePaths(runContext)).map(ruleText)),
]
