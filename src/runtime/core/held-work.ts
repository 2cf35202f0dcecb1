/** Finished work that only a person may let land: it weakened its own checks, or it is larger than the owner's limits. */
import { taskName } from '../../domain/task-title.ts'
import { oversizedText, type Oversized } from '../../domain/change-size.ts'
import type { Choice } from '../../domain/escalation.ts'
import type { Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import type { NewEscalation } from '../../store/escalation.ts'
import { visibleText } from '../../visible-text.ts'
import { approveChoice, commandToApprove, cancelChoice, hintChoice, rejectChoice, takeOverChoices } from './choices.ts'
import { missingChecks } from '../../recovery/review/judge-mode.ts'
import { questionWithTried } from './tried.ts'
import { objectionReason, unapprovedObjections, weakenedQuestion } from './weakened-question.ts'
import { defined } from '../../domain/defined.ts'

/** Why the work is held; at least one of the three is set. */
export interface Held {
  /** What its changes of the checks are, as lines. */
  weakened: string[]
  oversized?: Oversized
  /** Required checks that did not pass on it. */
  missing?: string[]
}

/** Undefined = nothing holds the work. `required`: the owner's required checks. */
export const heldWork = (task: Task, run: Run, required: readonly string[]): Held | undefined => {
  const weakened = unapprovedObjections(task, run)
  const large = run.verdict?.oversized
  const missing = missingChecks(run, required)
  if (weakened.length === 0 && large === undefined && missing.length === 0) return undefined
  return {
    weakened,
    ...defined({ oversized: large }),
    ...(missing.length === 0 ? {} : { missing }),
  }
}

const missingText = (missing: readonly string[]): string =>
  `${missing.length === 1 ? 'a required check' : 'required checks'} did not pass on it: ${missing.join(', ')}`

export const heldReason = ({ weakened, oversized, missing }: Held): string =>
  [
    ...(weakened.length === 0 ? [] : [objectionReason(weakened)]),
    ...(oversized === undefined ? [] : [`the work changes ${oversizedText(oversized)}`]),
    ...(missing === undefined ? [] : [missingText(missing)]),
  ].join('; ')

const largestText = ({ largest }: Oversized): string =>
  largest.map(({ path, lines }) => `${visibleText(path)} (${lines.toLocaleString('en-US')} lines)`).join(', ')

const sizeLines = (large: Oversized): string[] => [
  `Largest: ${largestText(large)}. Binary files, lockfiles and files marked linguist-generated count as no lines.`,
  `To raise the limit: ${large.limits.map(({ setting }) => setting).join(' and ')} in .unstuck/config.json (-1 = none).`,
]

const choicesAbout = (task: Task, run: Run): Choice[] => [
  approveChoice(task.id, run),
  rejectChoice(task.id, run),
  hintChoice(task.id),
  ...takeOverChoices(task, run.id),
  cancelChoice(task.id),
]

const sizeQuestion = (task: Task, run: Run, large: Oversized, tried: string[]): Omit<NewEscalation, 'id'> => {
  const { id, number, title } = task
  const happened = `${taskName({ number, title })} passes its checks, but it changes ${oversizedText(large)}.`
  return {
    ...{ goalId: run.goalId, taskId: id, runId: run.id, kind: 'exhausted', happened, tried },
    question: questionWithTried(happened, tried),
    details: [
      ...sizeLines(large),
      `To look at the work: unstuck diff ${run.id}. To merge exactly this work: ${commandToApprove(id, run)}.`,
      `To have it done differently: unstuck retry ${id} --hint "…".`,
    ].join('\n'),
    choices: choicesAbout(task, run),
  }
}

const missingLine = (task: Task): string =>
  `To have them run: unstuck edit ${task.id} --check "…" --retry. To require others: judge.requiredChecks in .unstuck/config.json.`

const missingQuestion = (
  task: Task,
  run: Run,
  { missing, tried }: { missing: readonly string[]; tried: string[] },
): Omit<NewEscalation, 'id'> => {
  const { id, number, title } = task
  const happened = `${taskName({ number, title })} cannot land by itself: ${missingText(missing)}.`
  return {
    ...{ goalId: run.goalId, taskId: id, runId: run.id, kind: 'exhausted', happened, tried },
    question: questionWithTried(happened, tried),
    details: [
      missingLine(task),
      `To look at the work: unstuck diff ${run.id}. To merge exactly this work: ${commandToApprove(id, run)}.`,
    ].join('\n'),
    choices: choicesAbout(task, run),
  }
}

/** Of weakened checks and size. */
const ownQuestion = (
  task: Task,
  run: Run,
  { weakened, oversized, tried }: Omit<Held, 'missing'> & { tried: string[] },
): Omit<NewEscalation, 'id'> => {
  if (weakened.length === 0 && oversized !== undefined) return sizeQuestion(task, run, oversized, tried)
  const asked = weakenedQuestion(task, run, { held: weakened, tried })
  if (oversized === undefined) return asked
  const both = `It also changes ${oversizedText(oversized)}.`
  return {
    ...asked,
    happened: `${asked.happened} ${both}`,
    question: `${asked.question}\n${both}`,
    details: [asked.details, ...sizeLines(oversized)].join('\n'),
  }
}

/** One question, whatever holds the work. `tried`: the recoveries before, as lines. */
export const heldQuestion = (
  task: Task,
  run: Run,
  { missing, ...held }: Held & { tried: string[] },
): Omit<NewEscalation, 'id'> => {
  if (missing === undefined) return ownQuestion(task, run, held)
  if (held.weakened.length === 0 && held.oversized === undefined)
    return missingQuestion(task, run, { missing, tried: held.tried })
  const asked = ownQuestion(task, run, held)
  const more = `Also, ${missingText(missing)}.`
  return {
    ...asked,
    happened: `${asked.happened} ${more}`,
    question: `${asked.question}\n${more}`,
    details: [asked.details, missingLine(task)].join('\n'),
  }
}
