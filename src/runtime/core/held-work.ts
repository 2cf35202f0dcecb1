/**
 * Finished work that only a person may let land: it weakened its own checks, it is larger than the owner's limits, a required check did not
 * pass on it, or its agent reported a failure.
 */
import { taskName } from '../../domain/task-title.ts'
import { oversizedText, type Oversized } from '../../domain/change-size.ts'
import type { Choice } from '../../domain/escalation.ts'
import type { Launch, Run } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import type { Queryable } from '../../store/db.ts'
import type { NewEscalation } from '../../store/escalation.ts'
import { appendEvent } from '../../store/event.ts'
import { visibleText } from '../../visible-text.ts'
import { approveChoice, commandToApprove, cancelChoice, hintChoice, rejectChoice, takeOverChoices } from './choices.ts'
import { missingChecks } from '../../recovery/review/judge-mode.ts'
import { questionWithTried } from './tried.ts'
import { objectionReason, unapprovedObjections, weakenedQuestion } from './weakened-question.ts'
import { defined } from '../../domain/defined.ts'

/** Why the work is held; at least one of them is set. */
export interface Held {
  /** What its changes of the checks are, as lines. */
  weakened: string[]
  oversized?: Oversized
  /** Required checks that did not pass on it. */
  missing?: string[]
  /** How its agent ended, each time that it was started: the work may be a part. */
  unfinished?: string
}

/** The launch that worked last: one that only asks for the wording of a check says nothing about the work. */
export const lastWorking = ({ launches }: Pick<Run, 'launches'>): Launch | undefined =>
  launches.findLast(({ ask }) => ask === undefined)

/** How the agent ended whose work waits for a person, if it passes; undefined = it ended properly. */
export const unfinishedAs = (run: Pick<Run, 'launches'>): string | undefined => {
  const { leftAs, heldTree } = lastWorking(run) ?? {}
  return heldTree === undefined ? undefined : leftAs
}

/** Undefined = nothing holds the work. `required`: the owner's required checks. */
export const heldWork = (task: Task, run: Run, required: readonly string[]): Held | undefined => {
  const weakened = unapprovedObjections(task, run)
  const large = run.verdict?.oversized
  const missing = missingChecks(run, required)
  const unfinished = unfinishedAs(run)
  if (weakened.length === 0 && large === undefined && missing.length === 0 && unfinished === undefined) return undefined
  return {
    weakened,
    ...defined({ oversized: large, unfinished }),
    ...(missing.length === 0 ? {} : { missing }),
  }
}

const missingText = (missing: readonly string[]): string =>
  `${missing.length === 1 ? 'a required check' : 'required checks'} did not pass on it: ${missing.join(', ')}`

const unfinishedText = (unfinished: string): string => `its agent did not end properly (${unfinished})`

/** What no look at the work itself shows. */
const otherReasons = ({ missing, unfinished }: Pick<Held, 'missing' | 'unfinished'>): string[] => [
  ...(missing === undefined ? [] : [missingText(missing)]),
  ...(unfinished === undefined ? [] : [unfinishedText(unfinished)]),
]

export const heldReason = ({ weakened, oversized, ...others }: Held): string =>
  [
    ...(weakened.length === 0 ? [] : [objectionReason(weakened)]),
    ...(oversized === undefined ? [] : [`the work changes ${oversizedText(oversized)}`]),
    ...otherReasons(others),
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

const otherLines = (task: Task, { missing, unfinished }: Pick<Held, 'missing' | 'unfinished'>): string[] => [
  ...(missing === undefined ? [] : [missingLine(task)]),
  ...(unfinished === undefined
    ? []
    : ['An agent that fails may have left a part of the work: what is missing, the checks may not see.']),
]

const otherQuestion = (
  task: Task,
  run: Run,
  { tried, ...others }: Pick<Held, 'missing' | 'unfinished'> & { tried: string[] },
): Omit<NewEscalation, 'id'> => {
  const { id, number, title } = task
  const reasons = otherReasons(others).join('; ')
  const how = others.missing === undefined ? `passes its checks, but ${reasons}` : `cannot land by itself: ${reasons}`
  const happened = `${taskName({ number, title })} ${how}.`
  return {
    ...{ goalId: run.goalId, taskId: id, runId: run.id, kind: 'exhausted', happened, tried },
    question: questionWithTried(happened, tried),
    details: [
      ...otherLines(task, others),
      `To look at the work: unstuck diff ${run.id}. To merge exactly this work: ${commandToApprove(id, run)}.`,
    ].join('\n'),
    choices: choicesAbout(task, run),
  }
}

/** Of weakened checks and size. */
const ownQuestion = (
  task: Task,
  run: Run,
  { weakened, oversized, tried }: Omit<Held, 'missing' | 'unfinished'> & { tried: string[] },
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

/** With the question about work whose agent failed each time: nothing recovered from that. */
export const recordUnrecovered = async (tx: Queryable, run: Run, held: Held | undefined): Promise<void> => {
  if (held?.unfinished === undefined) return
  const { id: runId, goalId, taskId } = run
  const payload = { reason: 'unfinished', evidence: held.unfinished }
  await appendEvent(tx, { type: 'task.recovery_escalated', goalId, taskId, runId, payload })
}

/** One question, whatever holds the work. `tried`: the recoveries before, as lines. */
export const heldQuestion = (
  task: Task,
  run: Run,
  { missing, unfinished, ...held }: Held & { tried: string[] },
): Omit<NewEscalation, 'id'> => {
  const others = defined({ missing, unfinished })
  const texts = otherReasons(others)
  if (texts.length === 0) return ownQuestion(task, run, held)
  if (held.weakened.length === 0 && held.oversized === undefined)
    return otherQuestion(task, run, { ...others, tried: held.tried })
  const asked = ownQuestion(task, run, held)
  const more = `Also, ${texts.join('; ')}.`
  return {
    ...asked,
    happened: `${asked.happened} ${more}`,
    question: `${asked.question}\n${more}`,
    details: [asked.details, ...otherLines(task, others)].join('\n'),
  }
}
