/**
 * Creates a goal from a sentence, a checklist or a task file, without a model. Goal, tasks and goal branch are created
 * together or not at all.
 */
import { folderArea } from '../../domain/area.ts'
import type { Goal } from '../../domain/goal.ts'
import { noSpend, withoutLifted } from '../../domain/budget.ts'
import type { JudgeMode } from '../../domain/judgement.ts'
import type { PlanMode } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { issueName } from '../../domain/issue-name.ts'
import { linkIssue } from '../../store/forge-link.ts'
import { insertGoal, moveGoal, progressGoal } from '../../store/goal.ts'
import { mergeNumbered } from '../../store/merge.ts'
import { insertTasks, type NewTask } from '../../store/task.ts'
import { goalBranch, goalRef, type Context } from '../core/context.ts'
import { opensPullRequests } from '../landing/pull-request.ts'
import { checkGoal } from './check-goal.ts'
import { kindOf, plannedAs } from './check-kinds.ts'
import type { GoalInput } from './goal-input.ts'
import { chooseHarness } from '../harness/harness-choice.ts'
import { checksFor, type InferredChecks } from '../checks/infer-below.ts'
import { filesOfFolder, inferChecks, isManifestOfChecks } from '../checks/infer-from-files.ts'
import { programsOn } from '../core/find-program.ts'
import { firstChecks } from '../checks/first-checks.ts'
import { maxTitle } from '../core/task-fields.ts'
import { forgetOrphanBranch, recordOrphanBranch } from './orphan-branches.ts'

/** What the user chose for this goal on top of the input text. */
export interface GoalOptions {
  autoMerge: boolean
  repoMode: Goal['repoMode']
  allowedDirs: string[]
  harness: string | null
  limits: Partial<Goal['limits']>
  /** Top of the linked worktree from which the goal starts. Absent = the folder of the engine. */
  worktree?: string
  /** `loop`: tasks that name no kind are of kind `loop`. Absent = `tasks`. */
  strategy?: 'tasks' | 'loop'
  /** The one task of the input is divided into tasks by a planner; what follows then. Absent = it is done as it is. */
  plan?: PlanMode
  /** How strictly the work of its tasks is judged. Absent = as the owner says. */
  judge?: JudgeMode
  /** The issue of the forge that the goal is about, and the label for which the engine took it by itself. */
  issue?: { id: string; url: string; label?: string }
  /**
   * Where the goal starts instead of at what is checked out. `onForge`: that commit, where the user's own branch may lack it, so that the
   * goal is not brought onto that branch.
   */
  start?: { branch: string; head: string; onForge: string | null }
}

/** Reads nothing where each task has checks already: in a large repository that takes as long as the rest. */
const inferIn = async (
  context: Context,
  start: Start,
  { worktree, tasks }: Pick<GoalOptions, 'worktree'> & Pick<GoalInput, 'tasks'>,
): Promise<InferredChecks> => {
  const config = context.config()
  if (tasks.every((task) => firstChecks(task, config, []).source !== 'inferred')) return { top: [], stacks: [] }
  const { ports, repository } = context
  const committed =
    start.head === null
      ? { names: [], texts: new Map<string, string>() }
      : await ports.git.filesOfCommit(repository, start.head, isManifestOfChecks)
  // With a remote there is only a mirror here, so the commit shows what clones will contain.
  const found =
    context.remote !== undefined && start.head !== null
      ? committed
      : filesOfFolder(ports.files, worktree ?? repository.root, committed)
  return inferChecks(found, programsOn(ports.files, context.environment.PATH))
}

interface Plan {
  goalId: string
  input: GoalInput
  options: GoalOptions
  inferred: InferredChecks
}

const checkMergeEntries = async ({ db }: Context, input: GoalInput): Promise<void> => {
  for (const [index, task] of input.tasks.entries()) {
    if (task.review === undefined || 'branch' in task.review) continue
    if ((await mergeNumbered(db, task.review.mergeEntry)) === undefined)
      throw new AppError(
        'INPUT_INVALID',
        `task ${index + 1}: there is no merge entry ${task.review.mergeEntry}; "unstuck events --json" names the numbers (merge.enqueued)`,
      )
  }
}

/** The task that divides the goal. Its own paths and checks are those of the tasks that get none. */
const planningFields = ({ title, tasks: [task] }: GoalInput, plan: PlanMode): Partial<NewTask> => ({
  ...{ plan, title: `Plan: ${title}`.slice(0, maxTitle), instructions: task?.instructions ?? title },
})

const newTasks = (context: Context, { goalId, input, options, inferred }: Plan): NewTask[] => {
  const config = context.config()
  const ids = new Map(input.tasks.map((task) => [task.id, context.newId('t')]))
  return input.tasks.map((task, index) => {
    const checks = firstChecks(task, config, checksFor(inferred, task.allowedPaths).commands)
    return {
      id: ids.get(task.id) as string,
      goalId,
      number: index + 1,
      title: task.title,
      instructions: task.instructions,
      role: task.role,
      allowedPaths: task.allowedPaths,
      deniedPaths: task.deniedPaths,
      commands: checks.commands,
      commandSource: checks.source,
      dependsOn: task.after.map((id) => ids.get(id) as string),
      // All work in place shares one folder, so its tasks run one at a time, whichever goal they are of. Otherwise one agent's
      // changes would count as another's work, and a check would see half of them.
      targetArea: options.repoMode === 'direct' ? folderArea : (task.targetArea ?? null),
      harness: chooseHarness(
        context.ports.files,
        config,
        task.harness ?? options.harness ?? undefined,
        context.environment.PATH,
      ),
      model: task.model ?? null,
      priority: task.priority,
      contextFiles: task.contextFiles ?? [],
      judge: task.judge ?? null,
      kind: task.review === undefined ? kindOf(task, options) : 'code',
      ...(options.plan === undefined ? {} : planningFields(input, options.plan)),
      ...(task.review === undefined ? {} : { review: { ...task.review, head: null } }),
      ...(task.link === undefined ? {} : { awaitLink: { waitsFor: task.link, seconds: config.requeue.linkSeconds } }),
    }
  })
}

interface Start {
  branch: string | null
  head: string | null
}

/** An engine works either in a folder or on a git remote: a goal of the other mode would have nothing to work on. */
const checkMode = ({ remote }: Context, { repoMode }: GoalOptions): void => {
  if ((remote !== undefined) === (repoMode === 'remote')) return
  throw new AppError(
    'INPUT_INVALID',
    remote === undefined
      ? 'repoMode is "remote", but this engine works in a folder; start an engine with --repo <url>'
      : `repoMode is "${repoMode}", but this engine works on ${remote.url}; use "remote"`,
  )
}

const startOf = async (context: Context, options: GoalOptions): Promise<Start> => {
  checkMode(context, options)
  if (options.start !== undefined && options.repoMode !== 'direct') return options.start
  if (context.remote !== undefined) {
    const { branch, commit } = await context.remote.head()
    return { branch, head: commit }
  }
  if (options.repoMode === 'direct') return { branch: null, head: null }
  const now = await context.ports.git.openRepository(options.worktree ?? context.repository.root)
  if (options.worktree !== undefined && now.commonDir !== context.repository.commonDir)
    throw new AppError(
      'INPUT_INVALID',
      `worktree: ${now.root} is no worktree of ${context.repository.root}; leave it out, or name one that "git worktree list" shows`,
    )
  if (now.commonDir === null) {
    throw new AppError(
      'NOT_A_REPOSITORY',
      `${now.root} is not a git repository; run "git init" and commit there, or use --direct to work in place`,
    )
  }
  if (now.head === null) {
    throw new AppError('REPOSITORY_STATE', `${now.root} has no commit yet; make a first commit, then run again`)
  }
  return { branch: now.branch, head: now.head }
}

/**
 * On a remote the branch is pushed at once: a user without the right to push learns it before any agent is paid for.
 */
const makeBranch = async (context: Context, goal: Pick<Goal, 'id' | 'branchPrefix'>, start: string): Promise<void> => {
  if (context.remote === undefined) {
    await context.ports.git.ensureGoalBranch(context.repository, { name: goalBranch(goal), start })
    return
  }
  const pushed = await context.remote.push([{ ref: goalRef(goal), to: start, expected: null }])
  if (pushed.kind === 'done') return
  throw new AppError(
    'REMOTE_REFUSED',
    `${context.remote.url} refused the branch ${goalBranch(goal)} (${pushed.detail}); allow this user to push branches that start with ${goal.branchPrefix}, or set git.branchPrefix to a start that is allowed, then run again`,
  )
}

/**
 * Creates the goal with its tasks and its branch. Throws `AppError` before anything is stored if the input, the mode
 * or the repository does not allow it. `also` is stored with the goal or not at all.
 */
export const createGoal = async (
  context: Context,
  input: GoalInput,
  given: GoalOptions,
  also?: (tx: Queryable, goalId: string) => Promise<void>,
): Promise<Goal> => {
  const config = context.config()
  const plan = plannedAs(config.planner.mode, input, given)
  const options: GoalOptions = plan === undefined ? given : { ...given, plan }
  // The limit of tokens per hour is one of the repository, not of a goal.
  const { hourTokens: _hourTokens, ...limits } = withoutLifted({ ...config.limits, ...options.limits })
  const allowedDirs = checkGoal(context.ports.files, context.repository.root, { input, options })
  await checkMergeEntries(context, input)
  const start = await startOf(context, options)
  const id = context.newId('g')
  const { branchPrefix } = config.git
  const tasks = newTasks(context, {
    goalId: id,
    input,
    options,
    inferred: await inferIn(context, start, { ...options, tasks: input.tasks }),
  })
  // The branch first: a goal without its branch could not land, while a branch without a goal does no harm.
  if (start.head !== null) {
    if (context.remote === undefined) recordOrphanBranch(context, { id, branchPrefix }, start.head)
    await makeBranch(context, { id, branchPrefix }, start.head)
  }
  const goal = await context.db.transaction(async (tx) => {
    const created = await insertGoal(tx, {
      id,
      title: input.title,
      requirement: input.requirement,
      repoMode: options.repoMode,
      targetBranch: start.branch,
      baseCommit: start.head,
      headCommit: start.head,
      branchPrefix,
      // With pull requests, the forge decides what lands.
      autoMerge: options.autoMerge && !opensPullRequests(context),
      allowedDirs,
      limits,
      spend: noSpend,
      judge: options.judge ?? null,
    })
    await insertTasks(tx, tasks)
    if (options.issue !== undefined && !(await linkIssue(tx, id, options.issue)))
      throw new AppError('ILLEGAL', `issue ${issueName(options.issue.id)} has a goal already; see: unstuck status`)
    const { start: { onForge } = { onForge: null } } = options
    if (onForge !== null) await progressGoal(tx, id, { landing: { onForge } })
    await also?.(tx, id)
    return mustSucceed(await moveGoal(tx, created, 'planned', tasks.length === 1 ? '1 task' : `${tasks.length} tasks`))
  })
  context.at('goal-created')
  forgetOrphanBranch(context, id)
  context.wake()
  return goal
}
