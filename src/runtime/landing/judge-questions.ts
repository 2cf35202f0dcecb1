/** What a person is asked about finished work: to decide about it, or what to do where reviewer and writer do not agree. */
import { taskName } from '../../domain/task-title.ts'
import { proofText } from '../../domain/proof.ts'
import type { Choice } from '../../domain/escalation.ts'
import type { ReviewPoint } from '../../domain/judgement.ts'
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import { nextReviewLines } from '../../domain/task-review.ts'
import { objectionText, pointLines } from '../../recovery/review/objection.ts'
import { weakeningText } from '../../recovery/weakened.ts'
import type { NewEscalation } from '../../store/escalation.ts'
import {
  approveChoice,
  askAgainChoice,
  askBeyondLimitChoice,
  cancelChoice,
  hintChoice,
  rejectChoice,
  retryChoice,
  takeOverChoices,
} from '../core/choices.ts'
import { heldReason, type Held } from '../core/held-work.ts'
import { questionWithTried } from '../core/tried.ts'

type Question = Omit<NewEscalation, 'id'>

const about = (
  task: Task,
  run: Run,
  { happened, tried, details }: { happened: string; tried: string[]; details: readonly string[] },
): Omit<Question, 'choices'> => ({
  ...{ goalId: run.goalId, taskId: task.id, runId: run.id, kind: 'exhausted', happened, tried },
  question: questionWithTried(happened, tried),
  details: details.join('\n'),
})

const lookLines = ({ id }: Run): string[] => [`To look at the work: unstuck diff ${id}`]

const checkLines = ({ verdict }: Run): string[] => {
  const passed = (verdict?.checks ?? []).filter(({ excused }) => excused === undefined).map(({ command }) => command)
  const dropped = (verdict?.dropped ?? []).map(({ command, reason }) => `- ${command}: ${reason}`)
  const weakened = (verdict?.weakened ?? []).map((entry) => `- ${weakeningText(entry)}`)
  return [
    passed.length === 0 ? 'No check ran.' : `Its checks passed: ${passed.join(', ')}.`,
    ...(verdict?.proof === undefined ? [] : [`What they prove: ${proofText(verdict.proof)}.`]),
    ...(dropped.length === 0 ? [] : ['Checks that did not run:', ...dropped]),
    ...(weakened.length === 0 ? [] : ['Weakened checks:', ...weakened]),
  ]
}

const filesText = ({ verdict }: Run): string => {
  const count = verdict?.changedPaths.length ?? 0
  return count === 1 ? '1 file' : `${count} files`
}

/** What a reviewer found, for the person who decides after it. */
interface Found {
  points: readonly ReviewPoint[]
  summary: string
}

const foundLines = ({ points, summary }: Found): string[] => [
  ...(summary === '' ? [] : [`The reviewer says: ${summary}`]),
  ...pointLines(points),
]

interface ToDecide {
  held?: Held | undefined
  /** Why a person has to look, where that is more than the mode of the judge. */
  why?: string | undefined
  /** Of a reviewer that approved, while the settings became stricter. */
  found?: Found
  tried: string[]
}

export const decideQuestion = (task: Task, run: Run, { held, why, found, tried }: ToDecide): Question => {
  const reasons = [...(held === undefined ? [] : [heldReason(held)]), ...(why === undefined ? [] : [why])]
  const because = reasons.length === 0 ? '' : ` (${reasons.join('; ')})`
  const happened = `${taskName(task)} is finished and changes ${filesText(run)}; it lands only if you approve it${because}.`
  return {
    ...about(task, run, {
      ...{ happened, tried },
      details: [...(found === undefined ? [] : foundLines(found)), ...checkLines(run), ...lookLines(run)],
    }),
    choices: [
      approveChoice(task.id, run),
      rejectChoice(task.id, run),
      ...takeOverChoices(task, run.id),
      cancelChoice(task.id),
    ],
  }
}

/** A reviewer approves, and may not. */
export const outvotedQuestion = (
  task: Task,
  run: Run,
  { reason, tried, ...found }: Found & { reason: string; tried: string[] },
): Question => {
  const happened = `${taskName(task)} needs your decision: ${reason}.`
  return {
    ...about(task, run, { happened, tried, details: [...foundLines(found), ...checkLines(run), ...lookLines(run)] }),
    choices: [approveChoice(task.id, run), rejectChoice(task.id, run), cancelChoice(task.id)],
  }
}

/** No answer of a reviewer counts. */
export const noReviewQuestion = (
  task: Task,
  run: Run,
  { reason, tried }: { reason: string; tried: string[] },
): Question => {
  const happened = `${taskName(task)} could not be reviewed: ${reason}.`
  return {
    ...about(task, run, { happened, tried, details: [...checkLines(run), ...lookLines(run)] }),
    choices: [approveChoice(task.id, run), askAgainChoice(task.id), rejectChoice(task.id, run), cancelChoice(task.id)],
  }
}

/** The review would spend more than the owner allows. */
export const noBudgetQuestion = (
  task: Task,
  run: Run,
  { limit, tried }: { limit: string; tried: string[] },
): Question => {
  const happened = `${taskName(task)} was not reviewed, because ${limit}.`
  return {
    ...about(task, run, { happened, tried, details: [...checkLines(run), ...lookLines(run)] }),
    kind: 'budget',
    choices: [
      approveChoice(task.id, run),
      askBeyondLimitChoice(task.id),
      rejectChoice(task.id, run),
      cancelChoice(task.id),
    ],
  }
}

/** A review launches no agent, and its commit is not judged twice: only a new commit leads to another verdict. */
export const againChoices = ({ id, review }: Pick<Task, 'id' | 'review'>): Choice[] =>
  review === null ? [hintChoice(id), retryChoice(id)] : []

export interface BothSides {
  /** Who objects. */
  by: string
  points: readonly ReviewPoint[]
  summary: string
  again: boolean
  /** What the agent that wrote the work said last. */
  writer: string
}

/** No task corrects the work any more: reviewer and writer would only repeat themselves. */
export const disagreementQuestion = (
  task: Task,
  run: Run,
  { by, points, summary, again, writer, tried }: BothSides & { tried: string[] },
): Question => {
  const still = again ? 'still objects' : 'objects'
  const happened = `${taskName(task)} cannot land: ${by} ${still}, and no further correction is tried. ${objectionText(points)}.`
  return {
    ...about(task, run, {
      happened,
      tried,
      details: [
        `${by} says:`,
        ...pointLines(points),
        ...(summary === '' ? [] : [summary]),
        ...(writer === '' ? [] : [`The agent that wrote it (${run.harness}) says: ${writer}`]),
        ...(task.review === null ? [] : nextReviewLines(task.review)),
        ...checkLines(run),
        ...lookLines(run),
      ],
    }),
    choices: [
      approveChoice(task.id, run),
      // A review has no agent that could be given the note.
      ...(task.review === null ? [rejectChoice(task.id, run)] : []),
      ...againChoices(task),
      cancelChoice(task.id),
    ],
  }
}
