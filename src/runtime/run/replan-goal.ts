/**
 * The run of a task that compares a planned goal with what its tasks have done. Parts of the goal that nobody did become tasks; without an
 * answer that counts the goal ends as it is, because the work of its tasks has passed its own checks.
 */
import { messageOf } from '../../errors.ts'
import { askedFor, replanAnswerSchema, replanQuestion } from '../../recovery/plan/replan-question.ts'
import type { Plan } from '../../recovery/plan/shape-plan.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { appendEvent } from '../../store/event.ts'
import { listLiveGoals } from '../../store/goal.ts'
import { judgeRun } from '../../store/run.ts'
import { listTasks, moveTask } from '../../store/task.ts'
import { isWork } from '../../domain/task.ts'
import { ask } from '../agent/ask.ts'
import { roleSection } from '../agent/brief.ts'
import { taskInstructions } from '../agent/role-instructions.ts'
import { waitingIssues } from '../core/forge-issues.ts'
import { isReleased, type RunContext } from '../core/run-context.ts'
import { failAttemptRecoveries } from '../core/store-record.ts'
import { closeRun, freshTask } from './endings.ts'
import type { PhaseResult } from './phase.ts'
import { baseOf, insertPlanned, planTimeoutMs, requirementOf, shaped } from './plan-goal.ts'

const mostTasks = 5
const patchLimits = { mostBytesEach: 64 * 1024, mostBytes: 256 * 1024, mostFiles: 500 }
const mostElsewhere = 100

/** `skipped`: nobody was asked. `failed`: no answer counts. */
type Compared = { kind: 'finished'; plan: Plan } | { kind: 'skipped' | 'failed'; reason: string }

/** What other goals and issues are about. Without a look at the issues nothing is planned: the gap may be one of them. */
const elsewhereOf = async ({ context, goal }: RunContext): Promise<{ titles: string[] } | { problem: string }> => {
  const goals = (await listLiveGoals(context.db)).filter(({ id }) => id !== goal.id).map(({ title }) => title)
  try {
    return { titles: [...(await waitingIssues(context)), ...goals].slice(0, mostElsewhere) }
  } catch (error) {
    return { problem: `the issue backlog is unknown: ${messageOf(error)}` }
  }
}

const askWhatIsMissing = async (runContext: RunContext, elsewhere: string[]) => {
  const { context, goal, run } = runContext
  const requirement = requirementOf(runContext)
  const commit = run.baseCommit ?? ''
  const patch = await context.ports.git.readPatch(
    context.shadow,
    { from: goal.baseCommit ?? '', to: commit },
    patchLimits,
  )
  const done = (await listTasks(context.db, goal.id)).filter((task) => isWork(task) && task.status === 'done')
  const prompt = replanQuestion({
    ...{ roleText: roleSection(taskInstructions(context, 'planner')), requirement, elsewhere, mostTasks },
    ...{ done: done.map(({ title }) => title), leftOut: patch.leftOut },
    diff: context.ports.processes.redactText(patch.text, context.environment),
  })
  return ask(
    { ...runContext, commit },
    {
      ...{ purpose: 'what the goal still lacks', prompt, schema: replanAnswerSchema(mostTasks) },
      ...{ input: { requirement, commit }, timeoutMs: planTimeoutMs, attempts: 2 },
    },
  )
}

/** Undefined = this run was stopped. */
const compare = async (runContext: RunContext): Promise<Compared | undefined> => {
  const elsewhere = await elsewhereOf(runContext)
  if ('problem' in elsewhere) return { kind: 'skipped', reason: elsewhere.problem }
  const answer = await askWhatIsMissing(runContext, elsewhere.titles)
  if (!answer.ok) {
    if (answer.reason === 'stopped') return undefined
    const isAsked = answer.reason !== 'account_limit' && answer.reason !== 'budget'
    return { kind: isAsked ? 'failed' : 'skipped', reason: answer.detail }
  }
  const { tasks, notes } = askedFor(answer.value, requirementOf(runContext))
  if (tasks.length === 0) return { kind: 'finished', plan: { tasks: [], notes, hints: [] } }
  const plan = await shaped(runContext, { tasks, documentationGaps: [] }, await baseOf(runContext))
  return { kind: 'finished', plan: { ...plan, notes: [...notes, ...plan.notes] } }
}

const tell = async (tx: Queryable, { run }: RunContext, compared: Compared): Promise<void> => {
  const ids = { goalId: run.goalId, taskId: run.taskId, runId: run.id }
  if (compared.kind === 'finished') {
    const { tasks, notes, hints } = compared.plan
    const payload = { count: tasks.length, tasks, notes, policyRecoveryHintApplications: hints }
    return appendEvent(tx, { type: 'planner.replan_finished', ...ids, payload })
  }
  const payload = { reason: compared.reason.slice(0, 600) }
  if (compared.kind === 'skipped') return appendEvent(tx, { type: 'planner.replan_skipped', ...ids, payload })
  return appendEvent(tx, { type: 'planner.replan_failed', ...ids, payload })
}

/** Ends the run: the tasks, the event and the end of this task are one transaction, so that a crash never plans twice. */
const end = async (runContext: RunContext, compared: Compared): Promise<void> => {
  const { context, run, task } = runContext
  await context.db.transaction(async (tx) => {
    await failAttemptRecoveries(tx, task.id, 'its run was interrupted, and a later run succeeded without it')
    await closeRun(tx, runContext, 'succeeded', null)
    await judgeRun(tx, run.id)
    if (compared.kind === 'finished') await insertPlanned(tx, runContext, compared.plan.tasks)
    await tell(tx, runContext, compared)
    mustSucceed(await moveTask(tx, await freshTask(tx, runContext), 'verdict_recorded', { runId: run.id }))
  })
  context.at('run-finished')
}

export const replanGoal = async (runContext: RunContext): Promise<PhaseResult> => {
  const compared = await compare(runContext)
  if (compared === undefined || isReleased(runContext)) return 'on'
  await end(runContext, compared)
  return 'ended'
}
