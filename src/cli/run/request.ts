/** Turns the command line of `run` into a request: reads the goal, checks it against this folder, and shows the plan for --dry-run. */
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, isAbsolute, resolve } from 'node:path'
import type { GoalView } from '../../api/contract.ts'
import type { Config } from '../../config/config.ts'
import { strictestMode, type JudgeMode } from '../../domain/judgement.ts'
import type { PlanMode } from '../../domain/task.ts'
import { subjectText } from '../../domain/task-review.ts'
import { AppError } from '../../errors.ts'
import { checksInCheckout, firstChecks } from '../../runtime/checks/first-checks.ts'
import { checksFor, type InferredChecks } from '../../runtime/checks/infer-below.ts'
import { realFiles } from '../../runtime/core/files.ts'
import { whyNotAllowed, whyTooWide } from '../../config/wide-folder.ts'
import { plannedAs } from '../../runtime/goal/check-kinds.ts'
import { readGoal, type GoalInput } from '../../runtime/goal/goal-input.ts'
import type { JsonOption } from '../command-options.ts'
import type { Home } from '../engine/home.ts'
import { printLine, type Io } from '../io.ts'
import { safe } from '../render.ts'
import { defined } from '../../domain/defined.ts'
import { inferHere, notRunLines } from './inferred-here.ts'

export interface RunOptions extends JsonOption {
  merge?: boolean
  direct?: boolean
  loop?: boolean
  /** A planner divides the goal into tasks first. */
  plan?: boolean
  /** As `plan`, and the tasks wait for a person. */
  reviewPlan?: boolean
  allowDir: string[]
  harness?: string
  judge?: JudgeMode
  dryRun?: boolean
  detach?: boolean
  /** False = `--no-wait`. */
  wait?: boolean
  maxSeconds?: number
  maxTokens?: number
  maxCost?: number
  /** The goal that was read elsewhere, from an issue of the forge. */
  issue?: { input: GoalInput; id: string; url: string }
}

export const isGoalFile = (io: Io, name: string): boolean =>
  statSync(resolve(io.cwd, name), { throwIfNoEntry: false })?.isFile() === true

/**
 * Several words are one sentence. After a goal file they are a mistake, such as a pattern that the shell filled in: as a sentence, the
 * file would be neither read nor missed.
 */
export const goalArgument = (io: Io, words: readonly string[]): string => {
  const [first = '', extra] = words
  const whole = words.join(' ')
  if (extra === undefined || !/\.(md|markdown|json)$/i.test(first) || !isGoalFile(io, first) || isGoalFile(io, whole))
    return whole
  throw new AppError(
    'USAGE',
    `${first} is the goal, and "${extra}" was given as well; leave it out, or put a sentence in quotes`,
  )
}

export const readGoalInput = (io: Io, argument: string): GoalInput =>
  readGoal(argument, (name) => {
    const path = resolve(io.cwd, name)
    const found = statSync(path, { throwIfNoEntry: false })
    if (found?.isDirectory() === true)
      throw new AppError(
        'INPUT_INVALID',
        `${name} is a folder; give a checklist (.md) or a task file (.json), or write the goal as a sentence`,
      )
    if (found?.isFile() !== true) return undefined
    // Checked before reading, so that a huge file is never loaded.
    if (found.size > 1024 * 1024)
      throw new AppError('INPUT_INVALID', `${name} is larger than 1 MiB; split it into several goals`)
    return readFileSync(path)
  })

const allowedDir = (io: Io, text: string): string => {
  const path = isAbsolute(text) ? text : resolve(io.cwd, text)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new AppError(
      'INPUT_INVALID',
      `--allow-dir ${text}: this directory does not exist; create it, or correct the path`,
    )
  }
  const refused = whyNotAllowed(realFiles, path)
  if (refused !== undefined) throw new AppError('INPUT_INVALID', `--allow-dir ${refused}`)
  return realpathSync(path)
}

const modeOf = (home: Home, options: RunOptions, config: Config): 'local' | 'direct' | 'remote' => {
  if (home.repository.url === undefined) return options.direct === true ? 'direct' : config.repoMode
  if (options.direct !== true) return 'remote'
  throw new AppError('USAGE', '--direct works in a folder, and --repo names a repository by URL; leave out one of them')
}

interface Given {
  home: Home
  input: GoalInput
  options: RunOptions
  config: Config
}

/** Where the goal starts and lands, if the engine may work in another folder: beside a main worktree, or below a bare repository. */
const worktreeOf = ({ repository, worktree = repository }: Home): { worktree?: string } => {
  const { commonDir, root, url } = worktree
  return commonDir === null || url !== undefined || dirname(commonDir) === root ? {} : { worktree: root }
}

/** What follows the plan; a plan that a person looks at is a plan, whether or not `--plan` is given as well. */
const planOf = ({ input, options, config }: Given, repoMode: 'local' | 'direct' | 'remote'): { plan?: PlanMode } => {
  const asked = options.reviewPlan === true ? 'review' : options.plan === true ? 'run' : undefined
  const strategy = options.loop === true ? 'loop' : 'tasks'
  const plan = plannedAs(config.planner.mode, input, {
    repoMode,
    strategy,
    ...defined({ plan: asked }),
  })
  return plan === undefined ? {} : { plan }
}

export const goalRequestOf = (io: Io, given: Given) => {
  const { home, input, options, config } = given
  const repoMode = modeOf(home, options, config)
  return {
    input,
    options: {
      autoMerge: options.merge ?? config.autoMerge,
      repoMode,
      ...worktreeOf(home),
      allowedDirs: options.allowDir.map((text) => allowedDir(io, text)),
      harness: options.harness ?? null,
      ...(options.loop === true ? { strategy: 'loop' as const } : {}),
      ...planOf(given, repoMode),
      ...defined({ judge: options.judge }),
      ...(options.issue === undefined ? {} : { issue: { id: options.issue.id, url: options.issue.url } }),
      limits: {
        ...defined({ runSeconds: options.maxSeconds, goalTokens: options.maxTokens, goalCostUsd: options.maxCost }),
      },
    },
  }
}

type Request = ReturnType<typeof goalRequestOf>

export const checkFolder = (home: Home, options: Request['options']): void => {
  const { repository, worktree } = home
  if (options.repoMode === 'direct' && worktree !== undefined)
    throw new AppError(
      'USAGE',
      `--direct works in the main checkout of this repository, and ${worktree.root} is a linked worktree of it; run this in ${repository.root}`,
    )
  const wide = options.repoMode === 'direct' ? whyTooWide(realFiles, repository.root) : undefined
  if (wide !== undefined)
    throw new AppError('USAGE', `--direct: ${repository.root} ${wide}; let agents work in a separate folder`)
  if (options.repoMode !== 'local') return
  if (repository.commonDir === null) {
    throw new AppError(
      'NOT_A_REPOSITORY',
      `${repository.root} is not a git repository; run "git init" and commit there, or use --direct to work in the folder itself`,
    )
  }
  if (repository.head === null)
    throw new AppError(
      'REPOSITORY_STATE',
      `${repository.root} has no commit yet; make a first commit, then run this command again`,
    )
}

const landingText = ({ repoMode, autoMerge }: Request['options'], prefix: string): string => {
  if (repoMode === 'direct') return 'Works in this folder itself; no commit is made.'
  const branch = repoMode === 'remote' ? 'default branch there' : 'checked-out branch'
  return `Lands on a branch ${prefix}goal/<id>${autoMerge ? `; then the ${branch} is fast-forwarded to it` : ''}.`
}

interface Planned {
  home: Home
  config: Config
  harnessOf: (name?: string) => string
}

/** The checks of a planned task. Checks of a repository by URL are inferred later, when its commit has been fetched. */
const checksOf = (
  { home: { repository }, config }: Planned,
  task: GoalInput['tasks'][number],
  inferred: InferredChecks | undefined,
): string => {
  if (inferred === undefined && task.commands.length === 0)
    return 'Checks: from the configuration, or inferred from the repository when the goal starts'
  const below = inferred === undefined ? [] : checksFor(inferred, task.allowedPaths).commands
  const { commands, source } = firstChecks(task, config, below)
  return checksInCheckout(realFiles, repository.root, { commands, commandSource: source, role: task.role })
}

/** Describes the checks of an accepted goal, without repeating equal lines, and what will keep it from landing. */
export const goalCheckLines = async (
  home: Home,
  goal: Pick<GoalView, 'id' | 'branch' | 'tasks' | 'autoMerge' | 'targetBranch' | 'repoMode'>,
  path: string | undefined,
): Promise<string[]> => [
  ...new Set(goal.tasks.map((task) => checksInCheckout(realFiles, home.repository.root, task))),
  ...(await notRunLines(home, goal.tasks, path)),
  ...(goal.autoMerge && goal.targetBranch === null && goal.repoMode === 'local'
    ? [
        `HEAD is detached, so there is no branch to land on: the work will wait on ${goal.branch}, for: unstuck land ${goal.id} --into <branch>`,
      ]
    : []),
]

export const showPlan = async (io: Io, { input, options }: Request, planned: Planned): Promise<void> => {
  const { config, harnessOf, home } = planned
  const { repository, worktree } = home
  const { PATH } = io.environment
  const inferred = repository.url === undefined ? await inferHere(worktree ?? repository, PATH) : undefined
  printLine(io, input.title)
  for (const [index, task] of input.tasks.entries()) {
    const after = task.after.length === 0 ? '' : `, after task ${task.after.join(', ')}`
    const who =
      task.review === undefined ? harnessOf(task.harness) : `reviews ${subjectText(task.review)}, without an agent`
    printLine(io, `  ${index + 1}. ${task.title} (${who}${after})`)
    if (task.link !== undefined) printLine(io, `     Waits for a link: ${task.link}`)
    if (task.kind === 'loop' || (task.kind === undefined && options.strategy === 'loop'))
      printLine(io, '     In turns of planner, worker, tester and reviewer, until promise and gates hold')
    printLine(io, `     May change: ${task.allowedPaths.join(', ')}`)
    printLine(io, `     ${safe(checksOf(planned, task, inferred))}`)
    const judge = strictestMode([config.judge.mode, options.judge ?? null, task.judge ?? null])
    if (judge !== 'auto') printLine(io, `     Lands after ${judge === 'llm' ? 'a reviewer' : 'you'} approved it`)
  }
  const sources = input.tasks.map(({ allowedPaths, ...task }) => ({
    ...{ allowedPaths, commandSource: firstChecks(task, config, []).source },
  }))
  for (const text of await notRunLines(home, sources, PATH)) printLine(io, safe(text))
  if (options.plan !== undefined)
    printLine(io, 'A planner divides it into tasks first; this is what is done without a plan.')
  printLine(io, landingText(options, config.git.branchPrefix))
}
