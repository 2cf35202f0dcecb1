/** What finished work waits for while a reviewer has it. Pure. */
import type { Judgement } from '../../domain/judgement.ts'

const agoText = (since: Date, now: Date | undefined): string => {
  if (now === undefined) return ''
  const minutes = Math.floor((now.getTime() - since.getTime()) / 60_000)
  return minutes < 1 ? ', asked just now' : `, asked ${minutes} min ago`
}

/** A judgement that has begun. An expired claim is claimed again by the next pass of the engine that leads. */
export const judgementWait = (
  judgement: Judgement,
  now: Date | undefined,
): { owner: string; text: string; at?: Date } | undefined => {
  const { state, harness, reason, retryAt, changedAt } = judgement
  const who = harness === null ? '' : ` (${harness}${state === 'claimed' ? agoText(changedAt, now) : ''})`
  if (state === 'claimed') return { owner: 'judge', text: `waits for the reviewer${who}` }
  if (state !== 'waiting' || retryAt === null) return undefined
  return { owner: 'judge', text: `the reviewer${who} is asked again ("${reason.slice(0, 200)}")`, at: retryAt }
}

/** The judge was switched off, while a reviewer was at work or before. */
export const judgeOffWait = (judgement: Judgement | undefined): { owner: string; text: string } => ({
  owner: 'person',
  text:
    judgement?.state === 'claimed'
      ? 'the judge is off, so no verdict on its work counts: unstuck resume --judge'
      : 'its work waits for its review, and the judge is off: unstuck resume --judge',
})
