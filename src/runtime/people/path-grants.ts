/** The commands of a person about granted and learned paths: list, add, revoke, forget. */
import { grantedTo, type ListedGrant, type ListedLearnedPath } from '../../domain/path-grant.ts'
import { taskEnded, type Task } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import { parsePathRule, pathMatcher, ruleText } from '../../recovery/policy/path-rule.ts'
import { refreshAreas } from '../../store/area-hold.ts'
import type { Queryable } from '../../store/db.ts'
import { lockGoal } from '../../store/goal.ts'
import { forgetLearnedPath, getLearnedPath, listLearnedPaths } from '../../store/learned-path.ts'
import {
  getPathGrant,
  insertPathGrant,
  listPathGrants,
  revokePathGrant,
  sameLiveGrant,
} from '../../store/path-grant.ts'
import { nearestWord } from '../../validation.ts'
import type { Context } from '../core/context.ts'
import { exportLearnedPaths } from '../core/export-learned.ts'
import { grantLimit } from '../core/granted-paths.ts'
import { refusedPathReason } from '../core/grantable-paths.ts'
import { actorName, reasonText } from '../core/person-text.ts'
import { taskNamed } from './commands.ts'

export interface PathGrants {
  /** Days without use after which an entry ends. */
  days: number
  grants: ListedGrant[]
  learned: ListedLearnedPath[]
}

export const listGrants = async (context: Context, all: boolean): Promise<PathGrants> => {
  const limit = grantLimit(context)
  const [grants, learned] = [
    await listPathGrants(context.db, { ...limit, all }),
    await listLearnedPaths(context.db, { ...limit, all }),
  ]
  return { ...limit, grants, learned }
}

export interface GrantByPerson {
  path: string
  /** The folder whose tasks get the path; or a task. */
  area?: string | undefined
  task?: string | undefined
  why?: string | undefined
  by?: string | undefined
}

const invalid = (problem: string): AppError => new AppError('INPUT_INVALID', problem)

/** As it is stored and compared: without `./` and a slash at the end. */
const normalisedPath = (text: string): string => {
  const parsed = parsePathRule(text)
  if (!parsed.ok) throw invalid(`"${text}" cannot be granted: ${parsed.reason}; name a path inside the repository`)
  return ruleText(parsed.rule)
}

const areaNamed = (text: string): string => {
  const parsed = parsePathRule(text)
  if (parsed.ok && 'literal' in parsed.rule) return parsed.rule.literal
  const problem = parsed.ok ? 'it is no single folder' : parsed.reason
  throw invalid(`--area "${text}": ${problem}; name a folder of the repository, such as src/parser`)
}

/** The rule of the task that covers the path already. */
const coveredBy = ({ allowedPaths }: Task, path: string): string | undefined =>
  allowedPaths.find((text) => {
    const parsed = parsePathRule(text)
    return text === path || (parsed.ok && pathMatcher(parsed.rule)(path))
  })

const retryFirst = ({ id, status, supersededBy }: Task): string =>
  status === 'cancelled' && supersededBy === null ? `retry it first (unstuck retry ${id}), or ` : ''

const checkNeeded = (task: Task, path: string): void => {
  if (taskEnded(task.status))
    throw new AppError(
      'ILLEGAL',
      `task ${task.id} is ${task.status}, so a grant would have no effect; ${retryFirst(task)}name an area (--area)`,
    )
  const covered = coveredBy(task, path)
  if (covered !== undefined)
    throw new AppError('ILLEGAL', `task ${task.id} may change "${path}" already: its paths contain "${covered}"`)
}

interface Asked {
  path: string
  area: string | null
  task: Task | null
  why: string
  by: string
}

const insertAsked = async (context: Context, tx: Queryable, { path, area, task, why, by }: Asked): Promise<string> => {
  const scope = task === null ? 'area' : 'task'
  const target = { path, scope, areas: area === null ? [] : [area], taskId: task?.id ?? null, runId: null } as const
  const same = await sameLiveGrant(tx, { ...target, areas: [...target.areas] }, grantLimit(context))
  if (same !== undefined)
    throw new AppError(
      'ILLEGAL',
      `"${path}" is already granted to ${grantedTo(same)}, by ${same.grantedBy} (${same.id})`,
    )
  const source = task === null ? '' : [task.title, ...task.commands].join('\n').slice(0, 2_000)
  const ids = { goalId: task?.goalId ?? null, role: task?.role ?? null }
  const grant = { ...target, ...ids, id: context.newId('p'), areas: [...target.areas] }
  const { id } = await insertPathGrant(tx, { ...grant, rule: 'person', why, grantedBy: by, sourceText: source })
  if (task !== null) await refreshAreas(tx, task.id)
  return id
}

/** The paths that a person allows in an answer. A path that the task may change already needs no grant. */
export const grantInAnswer = async (
  context: Context,
  tx: Queryable,
  task: Task,
  { paths, question, by }: { paths: readonly string[]; question: string; by: string | undefined },
): Promise<Task> => {
  const texts = [...new Set(paths.map(normalisedPath))]
  for (const path of texts) {
    const reason = refusedPathReason(path, context, task.deniedPaths)
    if (reason !== undefined) throw invalid(`paths: "${path}" cannot be allowed: ${reason}`)
  }
  const asked = { area: null, task, why: `allowed in the answer to question ${question}`, by: actorName(by) }
  const target = { scope: 'task' as const, areas: [], taskId: task.id, runId: null }
  for (const path of texts) {
    const isKnown = (await sameLiveGrant(tx, { ...target, path }, grantLimit(context))) !== undefined
    if (!isKnown && coveredBy(task, path) === undefined) await insertAsked(context, tx, { ...asked, path })
  }
  return taskNamed(tx, task.id)
}

/** Grants a path to an area or a task. A person may write a glob, but no denied path and no secret. */
export const addGrant = async (context: Context, request: GrantByPerson): Promise<ListedGrant> => {
  const path = normalisedPath(request.path)
  if ((request.area === undefined) === (request.task === undefined))
    throw invalid(
      `say who may change "${path}": either the tasks of a folder (--area <folder>) or one task (--task <id>)`,
    )
  const why = reasonText(context, request.why ?? '')
  if (why === '') throw invalid(`say why "${path}" may be changed (--why "…"); the reason is shown with the grant`)
  const task = request.task === undefined ? null : await taskNamed(context.db, request.task)
  const reason = refusedPathReason(path, context, task?.deniedPaths)
  if (reason !== undefined) throw invalid(`"${path}" cannot be granted: ${reason}`)
  if (task !== null) checkNeeded(task, path)
  const area = request.area === undefined ? null : areaNamed(request.area)
  const asked = { path, area, task, why, by: actorName(request.by) }
  const id = await context.db.transaction(async (tx) => {
    if (task !== null) await lockGoal(tx, task.goalId)
    return insertAsked(context, tx, asked)
  })
  return present(await getPathGrant(context.db, id, grantLimit(context)))
}

const present = <T>(found: T | undefined): T => {
  if (found === undefined) throw new Error('the store lost a row')
  return found
}

const notFound = (message: string, guess: string | undefined, advice: string): AppError =>
  new AppError('NOT_FOUND', `${message}; ${guess === undefined ? advice : `did you mean "${guess}"?`}`)

/** The grants that a person names by id or path. Ended ones only by id, to say why there is nothing to revoke. */
const grantsNamed = async (context: Context, name: string): Promise<ListedGrant[]> => {
  const one = await getPathGrant(context.db, name, grantLimit(context))
  if (one !== undefined) {
    if (one.ended === null) return [one]
    const how = one.revokedBy === null ? one.ended : `revoked by ${one.revokedBy}`
    throw new AppError('ILLEGAL', `grant ${name} ("${one.path}") has ended before: ${how}`)
  }
  const { grants, learned } = await listGrants(context, false)
  const parsed = parsePathRule(name)
  const path = parsed.ok ? ruleText(parsed.rule) : name
  const found = grants.filter((grant) => grant.path === path)
  if (found.length > 0) return found
  if (learned.some((entry) => entry.path === path))
    throw new AppError(
      'NOT_FOUND',
      `"${path}" is a learned path, not a grant; to undo it: unstuck grants forget ${path}`,
    )
  const guess = nearestWord(name, [...grants.map(({ id }) => id), ...new Set(grants.map(({ path }) => path))])
  throw notFound(`there is no grant "${name}"`, guess, '"unstuck grants" lists them')
}

/** Revokes one grant by its id, or all grants of a path. */
export const revokeGrants = async (
  context: Context,
  { grant, by }: { grant: string; by?: string | undefined },
): Promise<ListedGrant[]> => {
  const found = await grantsNamed(context, grant)
  const who = actorName(by)
  await context.db.transaction(async (tx) => {
    for (const { id, scope, taskId, goalId } of found) {
      if (goalId !== null) await lockGoal(tx, goalId)
      await revokePathGrant(tx, id, who)
      if (scope === 'task' && taskId !== null) await refreshAreas(tx, taskId)
    }
  })
  const limit = grantLimit(context)
  return Promise.all(found.map(async ({ id }) => present(await getPathGrant(context.db, id, limit))))
}

/** Undoes a learned path: its files count as changes again. */
export const forgetPath = async (
  context: Context,
  { path: text, by }: { path: string; by?: string | undefined },
): Promise<ListedLearnedPath> => {
  const parsed = parsePathRule(text)
  const path = parsed.ok ? ruleText(parsed.rule) : text
  const who = actorName(by)
  const forgotten = await context.db.transaction((tx) => forgetLearnedPath(tx, path, who))
  if (forgotten === undefined) {
    const live = (await listGrants(context, false)).learned.map((entry) => entry.path)
    const above = live.find((folder) => path.startsWith(`${folder}/`))
    throw notFound(
      `"${path}" is no learned path`,
      above ?? nearestWord(path, live),
      '"unstuck grants" lists the learned paths',
    )
  }
  await exportLearnedPaths(context)
  return present(await getLearnedPath(context.db, path, grantLimit(context)))
}
