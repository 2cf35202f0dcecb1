/** The work of `unstuck policy explain`. Without `--task` it reads only files of the owner; no engine and no store are needed. */
import { isAbsolute, relative } from 'node:path'
import type { Grant, GrantList, TaskView } from '../api/contract.ts'
import { overlapOf } from '../domain/area.ts'
import { grantedTo } from '../domain/path-grant.ts'
import { loadConfig, type Config } from '../config.ts'
import { AppError, exitCodes } from '../errors.ts'
import { loadWithSources, type PolicySetting } from '../policy-recovery-sources.ts'
import type { PathTask } from '../recovery/policy/auto-allow.ts'
import { explainPath, type PathAnswer, type PathDecision } from '../recovery/policy/explain-path.ts'
import { builtInGeneratedPaths } from '../recovery/policy/generated.ts'
import type { HeldArea } from '../recovery/policy/path-safety.ts'
import { holdsAreas } from '../domain/task.ts'
import { pathFactsOf } from '../workspace/path-facts.ts'
import type { JsonOption } from './command-options.ts'
import { homeOf } from './engine/home.ts'
import { printJson, printLine, type Io } from './io.ts'
import { createPaint, safe } from './render.ts'

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
  granted: { path: string; from: string }[]
}

/** Grants that apply to the next run of the task; those of single runs do not. */
const grantsFor = (task: TaskView, grants: readonly Grant[]): TaskFacts['granted'] =>
  grants
    .filter(({ scope, taskId, areas }) =>
      scope === 'area'
        ? overlapOf(areas, task.areas) !== undefined
        : scope === 'task' && (taskId === task.id || taskId === task.rework?.parent),
    )
    .map((grant) => ({
      path: grant.path,
      from: `to ${grantedTo(grant)} by ${grant.grantedBy} (${grant.id}): ${grant.why}`,
    }))

/** The task, and the areas in which other tasks work. */
const readTask = async (io: Io, id: string): Promise<TaskFacts> => {
  const { readOnly } = await import('./engine/read-only.ts')
  return readOnly(io, async ({ client }) => {
    const task = await client.get<TaskView>(`/tasks/${encodeURIComponent(id)}`)
    const others = (await client.all<TaskView>('/tasks')).filter((other) => other.id !== id && holdsAreas(other.status))
    const held = others.flatMap(({ areas, number, title }) =>
      areas.map((area) => ({ area, by: `task ${number} "${title}"` })),
    )
    const { grants } = await client.get<GrantList>('/grants')
    return { task, held, granted: grantsFor(task, grants) }
  })
}

export const pathTaskOf = (task: PathTask): PathTask => {
  const { role, title, instructions, commands, contextFiles, allowedPaths, deniedPaths } = task
  return { role, title, instructions, commands, contextFiles, allowedPaths, deniedPaths }
}

const deniedBy = ({ deniedPaths }: Config) => [
  ...deniedPaths.map((path) => ({ path, from: 'deniedPaths of the configuration' })),
  { path: '.unstuck', from: 'built-in' },
]

const generatedBy = ({ policyRecovery: { generatedPaths, extraGeneratedPaths } }: Config) => [
  ...builtInGeneratedPaths.map((pattern) => ({ pattern, from: 'built-in' })),
  ...generatedPaths.map((pattern) => ({ pattern, from: 'policyRecovery.generatedPaths' })),
  ...extraGeneratedPaths.map((pattern) => ({ pattern, from: 'policyRecovery.extraGeneratedPaths' })),
]

const decisions: Record<PathDecision, string> = {
  allowed: 'allowed',
  'left out': 'left out of the work, which goes on without it',
  asked: 'decided by a model',
  refused: 'refused',
}

const settingLine = ({ key, from }: PolicySetting): string => `  ${key}: ${from.join(' + ')}`

const print = (
  io: Io,
  path: string,
  answer: PathAnswer,
  rest: { mode: string; settings: PolicySetting[]; task?: string },
): void => {
  const paint = createPaint(io.colours)
  const shade = answer.decision === 'refused' ? paint.bad : answer.decision === 'asked' ? paint.warn : paint.good
  printLine(io, `${safe(path)}: ${shade(decisions[answer.decision])} (rule ${answer.rule})`)
  printLine(io, safe(answer.because))
  if (rest.task === undefined)
    printLine(io, 'No task is named, so its paths and commands are not considered: --task <id> judges for one.')
  else if (answer.decision === 'refused' && answer.rule === 'no_rule')
    printLine(io, `To allow it: unstuck edit ${rest.task} --add-path ${safe(path)} --why "…"`)
  printLine(io, 'Checked in this order:')
  for (const { question, decides } of answer.steps) printLine(io, `  ${question} ${decides ? 'This decides.' : 'No.'}`)
  printLine(io, `Mode: ${rest.mode}. Where the rules come from:`)
  for (const setting of rest.settings) printLine(io, settingLine(setting))
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
  const found = options.task === undefined ? undefined : await readTask(io, options.task)
  const { useLlm, attempts } = config.policyRecovery
  const answer = explainPath({
    ...{ path, policy, denied: deniedBy(config), generated: generatedBy(config), held: found?.held ?? [] },
    granted: found?.granted ?? [],
    facts: await pathFactsOf(repository, path),
    mayAskModel: useLlm && attempts > 0 && found?.task.role !== 'docser',
    ...(found === undefined ? {} : { task: pathTaskOf(found.task) }),
  })
  const named = options.task === undefined ? {} : { task: options.task }
  if (options.json === true) printJson(io, { path, ...named, ...answer, mode: policy.mode, settings })
  else print(io, path, answer, { mode: policy.mode, settings, ...named })
  return exitCodes.ok
}
