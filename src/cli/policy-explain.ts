/** The work of `unstuck policy explain`. Without `--task` no engine and no store are needed; learned paths are read where there is one. */
import type { CarriedPath } from '../recovery/policy/carried-paths.ts'
import { goalRef } from '../runtime/core/context.ts'
import { carriedSince } from '../runtime/core/effective-paths.ts'
import { ownersPaths } from '../runtime/core/grantable-paths.ts'
import { isAbsolute, relative } from 'node:path'
import type { GoalView, Grant, GrantList, LearnedPath, TaskView } from '../api/contract.ts'
import { loadConfig, type Config } from '../config/config.ts'
import { AppError, exitCodes } from '../errors.ts'
import { builtIn, loadWithSources, type PolicySetting } from '../config/policy-recovery-sources.ts'
import type { PathTask } from '../recovery/policy/auto-allow.ts'
import { explainPath } from '../recovery/policy/explain-path.ts'
import type { GeneratedRule, GrantFact, PathAnswer, PathDecision, PathFacts } from '../recovery/policy/path-question.ts'
import type { HeldArea } from '../recovery/policy/path-safety.ts'
import { overlapOf } from '../domain/area.ts'
import { evidenceText, grantedTo } from '../domain/path-grant.ts'
import { holdsAreas } from '../domain/task.ts'
import { taskNameInside } from '../domain/task-title.ts'
import { readRef } from '../workspace/branches.ts'
import { pathFactsOf, lastCommitOf } from '../workspace/path-facts.ts'
import { renamesSince } from '../workspace/renames.ts'
import type { Repository } from '../workspace/repository-types.ts'
import type { JsonOption } from './command-options.ts'
import { homeOf } from './engine/home.ts'
import { printJson, printLine, type Io } from './io.ts'
import { createPaint, safe } from './render.ts'
import { listsDependencies } from '../recovery/proof/manifests.ts'
import { filesRunByChecks } from '../recovery/proof/run-files.ts'
import { partOf, type ChangePart } from '../recovery/proof/split.ts'

/** What a path would be in the proof of a change: its subject, or an instrument of the checks. */
const meanings: Record<ChangePart, string> = {
  subject: 'subject: what the work is about; a check must fail without its change',
  instrument: 'instrument: what the checks measure with; its change proves nothing by itself',
  documentation: 'documentation: takes no part',
}

/** By the owner's last commit and the commands of a task, if one is named. */
const proofPartOf = async (
  repository: Repository,
  path: string,
  commands: readonly string[],
): Promise<{ part: ChangePart; meaning: string }> => {
  const { paths, read } = await lastCommitOf(repository)
  const added = !paths.includes(path)
  const request = {
    changed: [{ path, added }],
    base: paths,
    ...(await filesRunByChecks([read], commands)),
    dependencies: new Set<string>(),
  }
  const part = partOf(request, path, added)
  const but = part === 'instrument' && listsDependencies(path) ? ' (a change of its dependencies alone is subject)' : ''
  return { part, meaning: `${meanings[part]}${but}` }
}

/** As allowed paths are written: relative to the top, without "./". */
const pathFromTop = (root: string, text: string): string => {
  const path = (isAbsolute(text) ? relative(root, text) : text).replace(/^(?:\.\/)+/, '').replace(/\/+$/, '')
  if (path === '' || path === '..' || path.startsWith('../'))
    throw new AppError(
      'INPUT_INVALID',
      `${JSON.stringify(text)} is not a file inside ${root}; give its path relative to that folder`,
    )
  return path
}

interface TaskFacts {
  task: TaskView
  held: HeldArea[]
  grants: GrantFact[]
  carried: CarriedPath[]
}

interface StoreFacts {
  found?: TaskFacts
  learned: LearnedPath[]
}

/** The task and those that it continues. */
const lineOf = (task: TaskView, all: readonly TaskView[]): string[] => {
  const line = [task.id]
  for (let at: TaskView | undefined = task; at?.rework != null;) {
    const { parent }: { parent: string } = at.rework
    if (line.includes(parent)) break
    line.push(parent)
    at = all.find(({ id }) => id === parent)
  }
  return line
}

const grantFact = (grant: Grant): GrantFact => ({
  path: grant.path,
  from: `grant ${grant.id} to ${grantedTo(grant)}, by ${grant.grantedBy} (rule ${grant.rule}) on ${grant.grantedAt.slice(0, 10)}: ${grant.why}; it ends on ${grant.endsAt.slice(0, 10)} if unused`,
  change: `unstuck grants revoke ${grant.id}`,
})

/** A grant of a single run counts for no later run. */
const grantsOf = async (
  task: TaskView,
  { all, grants, config }: { all: readonly TaskView[]; grants: readonly Grant[]; config: Config },
): Promise<GrantFact[]> => {
  const { refusedPathReason } = await import('../runtime/core/grantable-paths.ts')
  const line = lineOf(task, all)
  return grants
    .filter(({ scope, taskId, areas }) =>
      scope === 'area' ? overlapOf(areas, task.areas) !== undefined : scope === 'task' && line.includes(taskId ?? ''),
    )
    .filter(({ path }) => refusedPathReason(path, { config: () => config }, task.deniedPaths) === undefined)
    .map(grantFact)
}

/** On the branch of the task's goal, where its next run begins. */
const carriedOf = async (
  repository: Repository,
  task: TaskView,
  goal: Pick<GoalView, 'id' | 'branchPrefix'>,
): Promise<CarriedPath[]> => {
  const tip = await readRef(repository, goalRef(goal))
  if (tip === null) return []
  const made = { ...task, createdAt: new Date(task.createdAt) }
  return carriedSince(made, (since) => renamesSince(repository, { tip, since })).catch(() => [])
}

/** The learned paths, and with a task its grants and the areas in which other tasks work. */
const readFacts = async (
  io: Io,
  { config, repository }: { config: Config; repository: Repository },
  id: string | undefined,
): Promise<StoreFacts> => {
  const { readOnly } = await import('./engine/read-only.ts')
  return readOnly(io, async ({ client }) => {
    const { grants, learned } = await client.get<GrantList>('/grants')
    if (id === undefined) return { learned }
    const task = await client.get<TaskView>(`/tasks/${encodeURIComponent(id)}`)
    const all = await client.all<TaskView>('/tasks')
    const others = all.filter((other) => other.id !== id && holdsAreas(other.status))
    const held = others.flatMap(({ areas, number, title }) =>
      areas.map((area) => ({ area, by: taskNameInside({ number, title }) })),
    )
    const goal = await client.get<GoalView>(`/goals/${task.goalId}`)
    const carried = await carriedOf(repository, task, goal)
    return { learned, found: { task, held, carried, grants: await grantsOf(task, { all, grants, config }) } }
  })
}

/** Where nothing has been run yet, nothing is learned. */
const factsOf = async (io: Io, from: Parameters<typeof readFacts>[1], id: string | undefined): Promise<StoreFacts> => {
  try {
    return await readFacts(io, from, id)
  } catch (error) {
    if (id === undefined && error instanceof AppError && error.code === 'NOT_FOUND') return { learned: [] }
    throw error
  }
}

export const pathTaskOf = (task: PathTask): PathTask => {
  const { role, title, instructions, commands, contextFiles, allowedPaths, deniedPaths } = task
  return { role, title, instructions, commands, contextFiles, allowedPaths, deniedPaths }
}

/** An ignore file outside of the commit says nothing about the clone in which an agent works. */
export const inBase = ({ ignoredBy, ...facts }: PathFacts): PathFacts =>
  ignoredBy === undefined || isAbsolute(ignoredBy) || ignoredBy.startsWith('.git/') ? facts : { ...facts, ignoredBy }

const deniedBy = ({ deniedPaths }: Config) => [
  ...deniedPaths.map((path) => ({ path, from: 'deniedPaths of the configuration' })),
  ...ownersPaths.map((path) => ({ path, from: 'built-in' as const })),
]

const byVariable = (io: Io, variable: string, key: string): string =>
  (io.environment[variable] ?? '') === '' ? `${key} in .unstuck/config.json` : `${key}, set by ${variable}`

const generatedBy = (
  io: Io,
  { policyRecovery: { generatedPaths, extraGeneratedPaths } }: Config,
  learned: readonly LearnedPath[] = [],
): GeneratedRule[] => {
  const own = byVariable(io, 'GENERATED_PATHS', 'policyRecovery.generatedPaths')
  const extra = byVariable(io, 'WORKER_EXTRA_GENERATED_PATHS', 'policyRecovery.extraGeneratedPaths')
  return [
    ...generatedPaths.map((pattern) => ({ pattern, from: own, change: `Remove the entry from ${own}.` })),
    ...extraGeneratedPaths.map((pattern) => ({ pattern, from: extra, change: `Remove the entry from ${extra}.` })),
    ...learned.map(({ path, evidence, endsAt }) => ({
      pattern: path,
      from: `learned: ${evidenceText(evidence)}; it ends on ${endsAt.slice(0, 10)} if it is not seen again`,
      change: `unstuck grants forget ${path}`,
    })),
  ]
}

const decisions: Record<PathDecision, string> = {
  allowed: 'allowed',
  'left out': 'left out of the work, which goes on without it',
  tested: 'left out if a check makes it again, else decided by a model',
  asked: 'decided by a model',
  refused: 'refused',
}

const settingLine = ({ key, from }: PolicySetting): string => `  ${key}: ${from.join(' + ')}`

/** The keys of the rules of a mode, each with the files and variables that set it. */
const withFile = ({ from }: PathAnswer, settings: readonly PolicySetting[]): string =>
  settings.reduce((text, { key, from: files }) => text.replace(key, `${key} (${files.join(' + ')})`), from)

const print = (
  io: Io,
  path: string,
  answer: PathAnswer,
  rest: { mode: string; settings: PolicySetting[]; proof: string; task?: string },
): void => {
  const paint = createPaint(io.colours)
  const shade =
    answer.decision === 'refused'
      ? paint.bad
      : answer.decision === 'asked' || answer.decision === 'tested'
        ? paint.warn
        : paint.good
  printLine(io, `${safe(path)}: ${shade(decisions[answer.decision])} (rule ${answer.rule})`)
  printLine(io, safe(answer.because))
  printLine(io, `From: ${safe(answer.from)}`)
  printLine(io, `To change it: ${safe(answer.change)}`)
  printLine(io, `In the proof of a change: ${rest.proof}`)
  if (rest.task === undefined)
    printLine(io, 'No task is named, so its paths and commands are not considered: --task <id> judges for one.')
  printLine(io, 'Checked in this order:')
  for (const { question, decides } of answer.steps) printLine(io, `  ${question} ${decides ? 'This decides.' : 'No.'}`)
  const changed = rest.settings.filter(({ from }) => !(from.length === 1 && from[0] === builtIn))
  printLine(
    io,
    `Mode: ${rest.mode}. ${changed.length === 0 ? 'Every rule is a default.' : 'Rules that are no defaults come from:'}`,
  )
  for (const setting of changed) printLine(io, settingLine(setting))
}

export const policyExplainCommand = async (
  io: Io,
  text: string,
  options: JsonOption & { task?: string },
): Promise<number> => {
  const { repository } = await homeOf(io)
  const { root } = repository
  const path = pathFromTop(root, text)
  const config = loadConfig({ root, environment: io.environment })
  const { policy, settings } = loadWithSources({ root, environment: io.environment })
  const { found, learned } = await factsOf(io, { config, repository }, options.task)
  const { useLlm, attempts } = config.policyRecovery
  const answer = explainPath({
    ...{ path, policy, denied: deniedBy(config), generated: generatedBy(io, config, learned) },
    ...{ held: found?.held ?? [], grants: found?.grants ?? [], carried: found?.carried ?? [] },
    facts: inBase(await pathFactsOf(repository, path)),
    ...{ useLlm, attempts, disabled: config.playbooks.disabled, isDirect: false },
    ...(found === undefined ? {} : { task: pathTaskOf(found.task) }),
  })
  const shown = {
    ...answer,
    from: withFile(answer, settings),
    change: answer.change.replace('TASK', options.task ?? '<task>'),
  }
  const proof = await proofPartOf(repository, path, found?.task.commands ?? [])
  const named = options.task === undefined ? {} : { task: options.task }
  if (options.json === true) printJson(io, { path, ...named, ...shown, proof: proof.part, mode: policy.mode, settings })
  else print(io, path, shown, { mode: policy.mode, settings, proof: proof.meaning, ...named })
  return exitCodes.ok
}
