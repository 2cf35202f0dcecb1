/** The events of the judge: claims, verdicts, and the tasks that correct what was objected to. */
import type { ReviewPoint } from '../../domain/judgement.ts'
import { pointLine } from '../../recovery/review/objection.ts'
import { payloadText, payloadTitle, type EventTypes } from './event-text.ts'

type Payload = Record<string, unknown>

const verdicts: Record<string, string> = {
  approve: 'approved',
  request_changes: 'changes requested',
  ask_person: 'a person must decide',
}

const mostPoints = 3

const pointsText = ({ points, verdict, by }: Payload): string => {
  // What a person lets land all the same was said before.
  if (verdict === 'approve' && by !== undefined) return ''
  if (!Array.isArray(points) || points.length === 0) return ''
  const told = (points as ReviewPoint[]).slice(0, mostPoints).map((point) => pointLine(point).slice(0, 300))
  const more = points.length > mostPoints ? `; and ${points.length - mostPoints} more` : ''
  return `: ${told.join('; ')}${more}`
}

const costText = ({ harness, tokens, costUsd, by }: Payload): string => {
  if (typeof harness !== 'string' || by !== undefined) return ''
  const cost = typeof costUsd === 'number' && costUsd > 0 ? `, $${costUsd.toFixed(2)}` : ''
  return ` (${harness}, ${Number(tokens ?? 0).toLocaleString('en-US')} tokens${cost})`
}

const reviewText = (payload: Payload): string => {
  const { weakened } = payload
  const verdict = verdicts[payloadText(payload, 'verdict')] ?? payloadText(payload, 'verdict')
  const named = Array.isArray(weakened) && weakened.length > 0 ? `; weakened: ${weakened.join('; ')}` : ''
  const risk = payloadText(payload, 'risk')
  const of = risk === '' ? '' : `, risk ${risk}`
  return `review (${payloadText(payload, 'mode')}): ${verdict}, ${payloadText(payload, 'reason')}${pointsText(payload)}${of}${named}${costText(payload)}`
}

export const judgeEvents: EventTypes = {
  'verify.proof': {
    meaning: 'what the passing checks prove about the work: they would have failed without it, or they would not',
    sentence: (p) => payloadText(p, 'text'),
    technical: (p) => `${payloadText(p, 'runs')} runs of the checks, ${payloadText(p, 'ms')} ms`,
  },
  'judge.claimed': {
    meaning: 'a reviewer is asked about finished work',
    sentence: (p) => `${payloadText(p, 'harness')} reviews the work`,
    technical: (p) =>
      `judgement ${payloadText(p, 'number')}, claim ${payloadText(p, 'version')}, commit ${payloadText(p, 'commit').slice(0, 12)}`,
  },
  'judge.review': {
    meaning: 'the judge decided: the gates, a reviewer or a person',
    sentence: reviewText,
    technical: (p) =>
      payloadText(p, 'number') === ''
        ? ''
        : `judgement ${payloadText(p, 'number')}, commit ${payloadText(p, 'commit').slice(0, 12) || 'none'}`,
  },
  'judge.task_requeued': {
    meaning: 'a reviewer gave no answer that counts, so nothing is approved; it is asked again later',
    sentence: (p) =>
      payloadText(p, 'retryAt') === ''
        ? payloadText(p, 'reason')
        : `${payloadText(p, 'reason')}; the work is reviewed again at ${payloadText(p, 'retryAt')}`,
    technical: (p) => `judgement ${payloadText(p, 'number')}`,
  },
  'judge.task_recovered': {
    meaning: 'a judgement without a verdict was claimed again: its wait was over, or its judge had ended',
    sentence: (p) => `${payloadText(p, 'harness')} reviews the work again`,
    technical: (p) => `judgement ${payloadText(p, 'number')}, claim ${payloadText(p, 'version')}`,
  },
  'judge.withdrawn': {
    meaning:
      'the work is judged no more: a person did something else with the task, or the reviewed branch has a new commit',
    sentence: (p) => `the work is judged no more: ${payloadText(p, 'reason')}`,
    technical: (p) => `judgement ${payloadText(p, 'number')}`,
  },
  'judge.autofix_task_created': {
    meaning: 'a new task corrects what a reviewer or a person objects to; the task itself waits for it',
    sentence: (p) =>
      `task ${payloadText(p, 'child')} "${payloadTitle(p)}" was made to correct the work${payloadText(p, 'harness') === '' ? '' : ` with ${payloadText(p, 'harness')}`}`,
  },
}
