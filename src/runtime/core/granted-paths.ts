/**
 * What a run uses of the granted and learned paths, and how it adds to them. All writes belong into the transaction of the change that
 * they describe. Denied paths and secrets are refused here as well, for every caller.
 */
import { overlapOf } from '../../domain/area.ts'
import type { GrantScope, LearnedEvidence, ListedGrant, PathGrant } from '../../domain/path-grant.ts'
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { aggregateHints, type PathHint } from '../../recovery/policy/hints.ts'
import { parsePathRule, pathMatcher } from '../../recovery/policy/path-rule.ts'
import type { Queryable } from '../../store/db.ts'
import { learnedPathsOf, learnPath, seeLearnedPaths } from '../../store/learned-path.ts'
import {
  grantedRecoveries,
  grantsInReach,
  insertPathGrant,
  recordGrantUses,
  sameLiveGrant,
  taskAndParents,
} from '../../store/path-grant.ts'
import type { Context } from './context.ts'
import { refusedPathReason } from './grantable-paths.ts'

type Configured = Pick<Context, 'config'>

export const grantLimit = ({ config }: Configured): { days: number } => ({ days: config().policyRecovery.grantDays })

type TaskOfRun = Pick<Task, 'id' | 'areas' | 'deniedPaths'>

/** The grants that apply to a task, without those that a later rule denies. The denied paths still come first wherever they are used. */
const applicable = async (
  db: Queryable,
  context: Configured,
  task: TaskOfRun,
  runId: string | null,
): Promise<ListedGrant[]> => {
  const taskIds = await taskAndParents(db, task.id)
  const found = await grantsInReach(db, { ...grantLimit(context), taskIds, runId })
  return found.filter(
    ({ path, scope, areas }) =>
      (scope !== 'area' || overlapOf(areas, task.areas) !== undefined) &&
      refusedPathReason(path, context, task.deniedPaths) === undefined,
  )
}

/** The path rules that the task may use in addition to its own. Without a run, those of single runs are left out. */
export const liveGrantsFor = async (
  db: Queryable,
  context: Configured,
  task: TaskOfRun,
  run?: Pick<Run, 'id'>,
): Promise<string[]> => [...new Set((await applicable(db, context, task, run?.id ?? null)).map(({ path }) => path))]

/** The learned paths. They count only for files that the base commit does not have. */
export const learnedPatterns = (db: Queryable, context: Configured): Promise<string[]> =>
  learnedPathsOf(db, grantLimit(context))

/** The paths of generated files: those of the configuration, then the learned ones. */
export const generatedPatterns = async (db: Queryable, context: Configured): Promise<string[]> => {
  const { generatedPaths, extraGeneratedPaths } = context.config().policyRecovery
  return [...new Set([...generatedPaths, ...extraGeneratedPaths, ...(await learnedPatterns(db, context))])]
}

/** The run that needs a path. */
export interface NeedingRun {
  context: Pick<Context, 'config' | 'newId'>
  task: Task
  run: Pick<Run, 'id'>
}

export interface GrantRequest {
  /** A literal path that the run changed. */
  path: string
  scope: GrantScope
  by: 'rule' | 'model'
  /** The name of the rule; with `by: 'model'` always `model`. */
  rule: string
  why: string
}

export type PathOutcome<T> = { ok: true; value: T } | { ok: false; reason: string }

/** A task without areas would get an area grant that applies to no task, not even to itself. */
const scopeFor = ({ areas }: Task, scope: GrantScope): GrantScope =>
  scope === 'area' && areas.length === 0 ? 'task' : scope

/**
 * Grants a path that a run needs. A grant that already says the same is used instead, so a repeated call changes nothing. The caller
 * has checked that no other task works in the area.
 */
export const recordGrant = async (
  tx: Queryable,
  { context, task, run }: NeedingRun,
  request: GrantRequest,
): Promise<PathOutcome<PathGrant>> => {
  const parsed = parsePathRule(request.path)
  const reason =
    parsed.ok && 'glob' in parsed.rule
      ? 'it would be read as a glob, which only a person may grant'
      : refusedPathReason(request.path, context, task.deniedPaths)
  if (reason !== undefined) return { ok: false, reason }
  const scope = scopeFor(task, request.scope)
  const target = {
    path: request.path,
    scope,
    areas: scope === 'area' ? task.areas : [],
    taskId: task.id,
    runId: run.id,
  }
  const same = await sameLiveGrant(tx, target, grantLimit(context))
  if (same !== undefined) {
    await recordGrantUses(tx, [same.id], run.id)
    return { ok: true, value: same }
  }
  const value = await insertPathGrant(tx, {
    ...target,
    id: context.newId('p'),
    role: task.role,
    goalId: task.goalId,
    rule: request.by === 'model' ? 'model' : request.rule,
    why: request.why,
    grantedBy: request.by,
    sourceText: [task.title, ...task.commands].join('\n').slice(0, 2_000),
  })
  return { ok: true, value }
}

/** Records which grants a run really used: those that cover a path which it changed. */
export const touchGrants = async (
  tx: Queryable,
  { context, task, run }: NeedingRun,
  changedPaths: readonly string[],
): Promise<void> => {
  const used = (await applicable(tx, context, task, run.id)).filter(({ path }) => {
    const parsed = parsePathRule(path)
    return parsed.ok && changedPaths.some(pathMatcher(parsed.rule))
  })
  await recordGrantUses(
    tx,
    used.map(({ id }) => id),
    run.id,
  )
}

export interface LearnRequest {
  /** A file or folder: see `learnedPatternFor`. */
  path: string
  evidence: LearnedEvidence
}

/**
 * Learns a generated path; the value says whether the set of learned paths changed. If so, export it after the commit of the
 * transaction: `exportLearnedPaths`.
 */
export const recordLearned = async (
  tx: Queryable,
  { context, task, run }: NeedingRun,
  { path, evidence }: LearnRequest,
): Promise<PathOutcome<boolean>> => {
  const parsed = parsePathRule(path)
  const reason =
    parsed.ok && 'glob' in parsed.rule
      ? 'it would be read as a glob; a learned path is a file or a folder'
      : refusedPathReason(path, context, task.deniedPaths)
  if (reason !== undefined) return { ok: false, reason }
  const ids = { goalId: task.goalId, taskId: task.id, runId: run.id }
  return { ok: true, value: await learnPath(tx, { path, evidence, ...ids }) }
}

/** Records which learned paths a run saw again: those that cover a file which was left out. */
export const touchLearned = async (
  tx: Queryable,
  { context, run }: Pick<NeedingRun, 'context' | 'run'>,
  leftOut: readonly string[],
): Promise<void> => {
  const seen = (await learnedPatterns(tx, context)).filter((path) =>
    leftOut.some((file) => file === path || file.startsWith(`${path}/`)),
  )
  await seeLearnedPaths(tx, seen, run.id)
}

/** Hints for the paths of new tasks, from runs that passed. A task whose author wrote its paths gets none: see `applyHints`. */
export const plannedHints = async (db: Queryable): Promise<PathHint[]> => aggregateHints(await grantedRecoveries(db))
