/**
 * The run of a task that divides its goal: a planner is asked, read-only, about the base commit, and its answer becomes tasks of the goal.
 * A plan is help, never a condition: without an answer that counts the goal is one task, as it would be without a planner.
 */
import { inferChecks, isManifestOfChecks } from '../checks/infer-from-files.ts'
import { lackOf } from '../checks/lack-of-base.ts'
import { manifestScripts } from '../checks/manifest-scripts.ts'
import { isOfReplan, replanPriority } from '../../domain/replan.ts'
import type { PlanMode, Task } from '../../domain/task.ts'
import { readSuggestion } from '../../recovery/command/suggested.ts'
import { planAnswerSchema, planQuestion, surveyOf, type PlanAnswer } from '../../recovery/plan/plan-question.ts'
import { shapePlan, type Plan, type PlannedTask } from '../../recovery/plan/shape-plan.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { judgeRun } from '../../store/run.ts'
import { spentOnTasks } from '../../store/spent.ts'
import { insertTasks, listTasks, moveTask } from '../../store/task.ts'
import { ask } from '../agent/ask.ts'
import { roleSection } from '../agent/brief.ts'
import { taskInstructions } from '../agent/role-instructions.ts'
import { deniedTexts } from '../core/effective-paths.ts'
import { programsOn } from '../core/find-program.ts'
import { plannedHints } from '../core/granted-paths.ts'
import { isReleased, type RunContext } from '../core/run-context.ts'
import { failAttemptRecoveries } from '../core/store-record.ts'
import { accountLimitOf } from '../harness/accounts.ts'
import { closeRun, freshTask } from './endings.ts'
import type { PhaseResult } from './phase.ts'
import type { Goal } from '../../domain/goal.ts'
import { openEscalation } from '../../store/escalation.ts'
import { getGoal, moveGoal } from '../../store/goal.ts'
import { cancelChoice, planAgainChoice, startPlanChoice } from '../core/choices.ts'
import type { Context } from '../core/context.ts'

// The question about a plan that a person wanted to see before its tasks begin.

const taskLines = (tasks: readonly Task[]): string[] =>
  tasks.flatMap(({ id, number, title, allowedPaths, commands, dependsOn }) => {
    const after = tasks.filter((other) => dependsOn.includes(other.id)).map((other) => other.number)
    return [
      `${number}. ${title}${after.length === 0 ? '' : ` (after ${after.join(', ')})`} [${id}]`,
      `   may change ${allowedPaths.join(', ')}${commands.length === 0 ? '' : `; checks: ${commands.join(', ')}`}`,
    ]
  })

const changeLine = 'To change a task first: unstuck edit <task>'

/** Holds the goal up with the question, in the transaction that adds the tasks. */
const askAboutPlan = async (context: Context, tx: Queryable, { id }: Goal, notes: readonly string[]) => {
  const goal = await getGoal(tx, id)
  if (goal?.state !== 'active') return
  const tasks = (await listTasks(tx, id)).filter(({ status, plan }) => status === 'queued' && plan === null)
  const count = tasks.length === 1 ? '1 task' : `${tasks.length} tasks`
  const happened = `The plan of goal "${goal.title}" has ${count} and waits for you.`
  mustSucceed(await moveGoal(tx, goal, 'blocked', happened))
  await openEscalation(tx, {
    ...{ id: context.newId('q'), goalId: id, taskId: null, runId: null, kind: 'plan_review', happened, tried: [] },
    ...{
      question: happened,
      details: [...taskLines(tasks), ...notes.map((note) => `Note: ${note}`), changeLine].join('\n'),
    },
    choices: [startPlanChoice(id), planAgainChoice(id), cancelChoice(id)],
  })
}

export const planTimeoutMs = 20 * 60_000
const mostTasks = 20
/** Hints that the planner reads. All of them are compared with its tasks. */
const mostHintLines = 20
const longestRequirement = 2_000

/** Why commands of the plan cannot judge work on the base commit. A model may only choose among checks that are there. */
const refusedCommands = async (
  runContext: RunContext,
  answer: PlanAnswer,
  known: readonly string[],
): Promise<Map<string, string>> => {
  const refused = new Map<string, string>()
  for (const command of new Set(answer.tasks.flatMap(({ commands }) => commands))) {
    if (known.includes(command)) continue
    const read = readSuggestion(command, known.join(' && '))
    const lacks = read.ok ? await Promise.all(read.needs.map((need) => lackOf(runContext, need))) : []
    const lack = lacks.find((text) => text !== undefined)
    if (!read.ok) refused.set(command, read.reason)
    else if (lack !== undefined) refused.set(command, `the base commit has ${lack}`)
  }
  return refused
}

interface Base {
  files: string[]
  top: string[]
  checks: string[]
  scripts: string[]
}

export const baseOf = async ({ context, run, task }: RunContext): Promise<Base> => {
  const { git, files: disk } = context.ports
  const commit = run.baseCommit ?? ''
  const files = await git.filesOf(context.shadow, commit)
  const texts = await git.textsAt(context.shadow, commit, files.filter(isManifestOfChecks))
  const inferred = await inferChecks({ names: files, texts }, programsOn(disk, context.environment['PATH']))
  return {
    ...{ files, top: [...new Set(files.map((path) => path.split('/')[0] ?? ''))] },
    scripts: Object.keys(manifestScripts(texts.get('package.json'))),
    checks: [...new Set([...task.commands, ...inferred.top, ...inferred.stacks.flatMap(({ commands }) => commands)])],
  }
}

/** The tasks of an answer as they can be done here. */
export const shaped = async (runContext: RunContext, answer: PlanAnswer, base: Base): Promise<Plan> => {
  const { context, task } = runContext
  return shapePlan(answer, {
    ...{ files: base.files, allowedPaths: task.allowedPaths, deniedPaths: deniedTexts(runContext) },
    ...{ checks: task.originalCommands, hints: await plannedHints(context.db), policy: context.pathPolicy() },
    refusedCommands: await refusedCommands(runContext, answer, base.checks),
  })
}

/** The plan, or why there is none. */
type Planned = { ok: true; plan: Plan } | { ok: false; reason: string }

/** What is planned: the text of the planning task, which a person may have edited since, and the person's hint. */
export const requirementOf = ({ task }: RunContext): string =>
  task.hint === null ? task.instructions : `${task.instructions}\n\n${task.hint}`

/** Undefined = the goal or the account does not allow a question now, so that this phase decides how the run ends. */
const askPlanner = async (runContext: RunContext): Promise<Planned | undefined> => {
  const { context, run } = runContext
  const requirement = requirementOf(runContext)
  const base = await baseOf(runContext)
  const hints = await plannedHints(context.db)
  const survey = surveyOf(requirement, base)
  const lines = hints.slice(0, mostHintLines).map(({ role, path, count }) => `- ${role}: ${path} (${count} times)`)
  const roleText = roleSection(taskInstructions(context, 'planner'))
  const answer = await ask(
    { ...runContext, commit: run.baseCommit ?? '' },
    {
      purpose: 'the plan of the goal',
      prompt: planQuestion({ roleText, requirement, survey, hints: lines, mostTasks }),
      schema: planAnswerSchema(mostTasks),
      input: { requirement, commit: run.baseCommit },
      ...{ timeoutMs: planTimeoutMs, attempts: 2 },
    },
  )
  if (!answer.ok) {
    const isHeld =
      answer.reason === 'stopped' ||
      (answer.reason === 'account_limit' && (await accountLimitOf(context, context.db, run.harness)) !== undefined)
    return isHeld ? undefined : { ok: false, reason: answer.detail }
  }
  return { ok: true, plan: await shaped(runContext, answer.value, base) }
}

const wholeGoal = (runContext: RunContext): PlannedTask => ({
  ...{
    title: runContext.goal.title,
    instructions: requirementOf(runContext),
    purpose: 'the whole goal',
    role: 'worker',
  },
  ...{
    allowedPaths: runContext.task.allowedPaths,
    contextFiles: runContext.task.contextFiles,
    commands: [],
    after: [],
  },
  ...{ risk: 'low', size: 'medium' },
})

/** An agent does its own part, and needs the whole goal only to understand it. */
const instructionsOf = (planned: PlannedTask, { task }: RunContext, count: number): string =>
  count === 1 && !isOfReplan(task)
    ? planned.instructions
    : `${planned.instructions}\n\nWhat the goal needs this for: ${planned.purpose}\n\nThe whole goal, of which other tasks do the rest:\n${task.instructions.slice(0, longestRequirement)}`

/** Adds the tasks of the plan to the goal, behind those that it has. */
export const insertPlanned = async (
  tx: Queryable,
  runContext: RunContext,
  tasks: readonly PlannedTask[],
): Promise<void> => {
  const { context, goal, task } = runContext
  const ids = tasks.map(() => context.newId('t'))
  const last = Math.max(0, ...(await listTasks(tx, goal.id)).map(({ number }) => number))
  await insertTasks(
    tx,
    tasks.map((planned, at) => ({
      ...{ id: ids[at] as string, goalId: goal.id, number: last + 1 + at, title: planned.title, role: planned.role },
      instructions: instructionsOf(planned, runContext, tasks.length),
      ...{ allowedPaths: planned.allowedPaths, deniedPaths: task.deniedPaths, contextFiles: planned.contextFiles },
      commands: planned.commands.length === 0 ? task.originalCommands : planned.commands,
      commandSource: task.commandSource,
      dependsOn: planned.after.map((other) => ids[other] as string),
      ...{ targetArea: task.targetArea, harness: task.harness, model: task.model, judge: task.judge },
      priority: isOfReplan(task) ? task.priority - replanPriority : task.priority,
    })),
  )
}

/** Ends the run: the tasks, the event and the end of the planning task are one transaction, so that a crash never plans twice. */
const endPlanned = async (runContext: RunContext, planned: Planned, mode: PlanMode): Promise<void> => {
  const { context, run, task } = runContext
  const plan: Plan = planned.ok ? planned.plan : { tasks: [wholeGoal(runContext)], notes: [], hints: [] }
  await context.db.transaction(async (tx) => {
    await failAttemptRecoveries(tx, task.id, 'its run was interrupted, and a later run succeeded without it')
    await closeRun(tx, runContext, 'succeeded', null)
    await judgeRun(tx, run.id)
    if (mode !== 'only') await insertPlanned(tx, runContext, plan.tasks)
    await appendEvent(tx, {
      type: 'planner.plan_created',
      ...{ goalId: run.goalId, taskId: run.taskId, runId: run.id },
      payload: {
        ...{ mode, count: plan.tasks.length, notes: plan.notes, tasks: plan.tasks },
        policyRecoveryHintApplications: plan.hints,
        earlier: await spentOnTasks(tx),
        ...(planned.ok ? {} : { reason: planned.reason.slice(0, 600) }),
      },
    })
    if (mode === 'review') await askAboutPlan(context, tx, runContext.goal, plan.notes)
    mustSucceed(await moveTask(tx, await freshTask(tx, runContext), 'verdict_recorded', { runId: run.id }))
  })
  context.at('run-finished')
}

export const planGoal = async (runContext: RunContext, mode: PlanMode): Promise<PhaseResult> => {
  const planned = await askPlanner(runContext)
  // After the end of the engine, a cancel or a lost lease the run continues elsewhere or ends; without the right to ask it ends as any run.
  if (planned === undefined || isReleased(runContext)) return 'on'
  await endPlanned(runContext, planned, mode)
  return 'ended'
}
