/**
 * The judge: whether finished work may land. The gates come first and outvote everybody else: work whose checks did not pass, or that
 * weakened its own checks, or is larger than the owner's limits, never lands by itself. What passes them lands in mode `auto`, waits for
 * a reviewer in mode `llm` (review-work.ts), and for a person in mode `human`. A run is claimed once, and its verdict is final.
 */
import { taskName } from '../../domain/task-title.ts'
import { strictestMode, type JudgeMode } from '../../domain/judgement.ts'
import { isEvidence, type Run } from '../../domain/run.ts'
import { mayStartWork, type Goal } from '../../domain/goal.ts'
import type { Task } from '../../domain/task.ts'
import { messageOf } from '../../errors.ts'
import { judgeModeOf } from '../../recovery/review/judge-mode.ts'
import { decides } from '../../recovery/proof/what-holds.ts'
import { weakeningText } from '../../recovery/weakened.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { openEscalation, type NewEscalation } from '../../store/escalation.ts'
import { getGoal } from '../../store/goal.ts'
import { insertJudgement, judgementOfHead } from '../../store/judgement.ts'
import { enqueueMerge } from '../../store/merge.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import { judgeRun, unjudgedRuns } from '../../store/run.ts'
import { getTask, moveTask } from '../../store/task.ts'
import { cancelChoice, hintChoice } from '../core/choices.ts'
import { questionWithTried, triedLines } from '../core/tried.ts'
import type { Context } from '../core/context.ts'
import { heldQuestion, heldReason, heldWork, recordUnrecovered, type Held } from '../core/held-work.ts'
import { endsPass } from '../core/pass.ts'
import { judgeWorks } from './judge-hatch.ts'
import { decideQuestion } from './judge-questions.ts'
import { defined } from '../../domain/defined.ts'

/** Why a run may not be merged; undefined = every gate passes. */
export const rejectionReason = (run: Run): string | undefined => {
  const { verdict } = run
  if (run.commit === null) return 'the run made no commit'
  // What the checks prove is for a person to decide: it holds the work.
  if (verdict === null || (verdict.outcome === 'not verified' && !decides(verdict.proof)))
    return 'the run was not verified'
  const failed = verdict.checks.find(
    (check) =>
      check.excused === undefined && (check.exitCode !== 0 || check.timedOut || check.ranNothing !== undefined),
  )
  if (failed !== undefined) return `its check "${failed.command}" did not pass`
  if (verdict.outcome === 'verified' && verdict.checks.length === 0) return 'no check ran'
  if (verdict.outcome === 'verified' && !verdict.checks.some(isEvidence)) return 'no check passed'
  return undefined
}

/** The work of a run, with what decides about it. */
export interface Work {
  goal: Goal
  task: Task
  run: Run
}

/** Whether no agent changed the work that a person gave back. */
const isPersonsOwn = ({ run }: Pick<Work, 'run'>): boolean =>
  run.verdict?.givenBack === true && run.launches.length === 0

/** A person who gave work back has approved it by that, so that no person is asked once more. */
export const modeOf = (context: Context, work: Work): JudgeMode => {
  const { goal, task, run } = work
  const changedPaths = run.verdict?.changedPaths ?? []
  const mode = judgeModeOf({ settings: context.config().judge, goal, task, changedPaths })
  return mode === 'human' && isPersonsOwn(work) ? 'auto' : mode
}

/** What the gates say. */
export type Gates = { kind: 'passed' } | { kind: 'rejected'; reason: string } | { kind: 'held'; held: Held }

export const gateResult = (context: Context, { task, run }: Omit<Work, 'goal'>): Gates => {
  const reason = rejectionReason(run)
  if (reason !== undefined) return { kind: 'rejected', reason }
  const held = heldWork(task, run, context.config().judge.requiredChecks)
  return held === undefined ? { kind: 'passed' } : { kind: 'held', held }
}

/** Goal and task of a run that may be judged now; undefined = the goal is paused or has ended. */
export const judgeableWork = async (tx: Queryable, run: Run): Promise<Work | undefined> => {
  const goal = await getGoal(tx, run.goalId)
  if (goal === undefined || !mayStartWork(goal)) return undefined
  const task = await getTask(tx, run.taskId)
  if (task === undefined) throw new Error(`task ${run.taskId} is gone from the store`)
  return { goal, task, run }
}

const rejectedQuestion = (task: Task, run: Run, reason: string, tried: string[]): Omit<NewEscalation, 'id'> => {
  const happened = `${taskName(task)} was not approved: ${reason}.`
  return {
    ...{ goalId: run.goalId, taskId: run.taskId, runId: run.id },
    kind: 'exhausted',
    ...{ question: questionWithTried(happened, tried), happened, tried },
    details: `The work is kept as commit ${run.commit ?? 'none'}: unstuck restore ${run.id} --into <folder>. Its output: unstuck logs ${run.id}`,
    choices: [hintChoice(task.id), cancelChoice(task.id)],
  }
}

const weakenedPayload = ({ verdict }: Run) => ({ weakened: (verdict?.weakened ?? []).map(weakeningText) })

interface Decision {
  trigger: 'gates_decided' | 'gates_asked'
  reason: string
  verdict?: 'approve' | 'request_changes'
  question?: (tried: string[]) => Omit<NewEscalation, 'id'>
}

/** Without a question, nothing but a reviewer may still hold the work. */
export const decide = ({ task, run }: Work, gates: Gates, mode: JudgeMode): Decision => {
  if (gates.kind === 'rejected')
    return {
      ...{ trigger: 'gates_decided', reason: gates.reason, verdict: 'request_changes' },
      question: (tried) => rejectedQuestion(task, run, gates.reason, tried),
    }
  const held = gates.kind === 'held' ? gates.held : undefined
  if (mode === 'human')
    return {
      ...{ trigger: 'gates_asked', reason: held === undefined ? 'this work is judged by a person' : heldReason(held) },
      question: (tried) => decideQuestion(task, run, { held, tried }),
    }
  const passed = isPersonsOwn({ run }) ? "a person's own work, and every gate passed" : 'every gate passed'
  if (held === undefined) return { trigger: 'gates_decided', reason: passed, verdict: 'approve' }
  return {
    ...{ trigger: 'gates_asked', reason: heldReason(held) },
    question: (tried) => heldQuestion(task, run, { ...held, tried }),
  }
}

/** Blocks the task with a question. */
export const escalateWork = async (
  context: Context,
  tx: Queryable,
  { task, run }: Omit<Work, 'goal'>,
  { reason, question }: { reason: string; question: (tried: string[]) => Omit<NewEscalation, 'id'> },
): Promise<void> => {
  mustSucceed(await moveTask(tx, task, 'escalated', { runId: run.id, payload: { reason } }))
  const tried = triedLines(await recoveriesOf(tx, task.id))
  await openEscalation(tx, { id: context.newId('q'), ...question(tried) })
}

/**
 * This head commit was judged with an earlier run of the task, and is not judged twice: a verdict counts for this run as well, and where
 * there is none a person decides. The gates see this run all the same, because a reviewed commit may meet another goal branch by now.
 */
export const repeatVerdict = async (context: Context, tx: Queryable, work: Work): Promise<void> => {
  const { task, run } = work
  const gates = gateResult(context, work)
  if (gates.kind === 'rejected') {
    const { reason } = gates
    return escalateWork(
      context,
      tx,
      { task, run },
      { reason, question: (tried) => rejectedQuestion(task, run, reason, tried) },
    )
  }
  const before = await judgementOfHead(tx, run)
  const mode = modeOf(context, work)
  const isApproved = before?.verdict === 'approve'
  const isStricter = isApproved && strictestMode([before.mode, mode]) !== before.mode
  if (isApproved && (before.decidedBy !== null || (gates.kind === 'passed' && !isStricter)))
    return enqueueMerge(tx, context.newId('m'), run)
  const reason =
    before?.verdict === 'request_changes'
      ? before.reason
      : `its commit was judged before${isStricter ? `, in mode ${before.mode}, and the mode is ${mode} now` : ''}`
  const held = gates.kind === 'held' ? gates.held : undefined
  return escalateWork(
    context,
    tx,
    { task, run },
    { reason, question: (tried) => decideQuestion(task, run, { held, why: reason, tried }) },
  )
}

const judgeOne = async (context: Context, seen: Run): Promise<void> => {
  const isJudged = await context.db.transaction(async (tx) => {
    const work = await judgeableWork(tx, seen)
    if (work === undefined) return false
    const mode = modeOf(context, work)
    const gates = gateResult(context, work)
    // A reviewer takes minutes, so it is asked next to the loop.
    if (mode === 'llm' && gates.kind === 'passed') return false
    const run = await judgeRun(tx, seen.id)
    if (run === undefined) return false
    const { trigger, reason, verdict, question } = decide({ ...work, run }, gates, mode)
    const made = await insertJudgement(tx, run, {
      ...{ id: context.newId('j'), mode, trigger, reason },
      ...defined({ verdict }),
      payload: { ...(verdict === undefined ? { verdict: 'ask_person' } : {}), ...weakenedPayload(run) },
    })
    if (made === undefined) await repeatVerdict(context, tx, { ...work, run })
    else if (question === undefined) await enqueueMerge(tx, context.newId('m'), run)
    else {
      await escalateWork(context, tx, { task: work.task, run }, { reason, question })
      await recordUnrecovered(tx, run, gates.kind === 'held' ? gates.held : undefined)
    }
    return true
  })
  if (isJudged) context.at('judged')
}

/**
 * Judges every successful run that has no judgement yet, apart from those that a reviewer looks at, unless a person switched the judge
 * off. Returns whether there were any.
 */
export const judgeRuns = async (context: Context): Promise<boolean> => {
  const runs = await unjudgedRuns(context.db)
  if (runs.length === 0) return false
  if (!(await judgeWorks(context))) return true
  for (const run of runs) {
    try {
      await judgeOne(context, run)
    } catch (error) {
      if (endsPass(context, error)) throw error
      context.log.error(
        { run: run.id, error: messageOf(error) },
        'a run could not be judged; the next pass tries again',
      )
    }
  }
  return true
}
