import { expect, it } from 'vitest'
import type { StoredEvent } from '../../store/event.ts'
import { sentenceOf } from './event-sentences.ts'
import { storyOf } from './explain.ts'

const event = (type: string, payload: object, taskId = 't-1'): StoredEvent =>
  ({ id: 1, type, at: new Date(0), goalId: 'g-1', taskId, runId: null, payload }) as unknown as StoredEvent

const refused = { label: 'TOOL_DENIED', evidence: 'refused' }

it('tells a refusal once where it ends in a question', () => {
  const asked = event('escalation.opened', { question: 'May it?', happened: 'Claude was refused a command.' })
  const events = [event('task.escalated', refused), event('task.recovery_escalated', refused), asked]
  expect(storyOf(events).map(({ text }) => text)).toEqual([expect.stringContaining('Claude was refused a command.')])
})

it('tells why a task was given up where no question was asked', () => {
  expect(storyOf([event('task.recovery_escalated', refused)])).toHaveLength(1)
})

it('tells a recovery in plain words, with the stored names behind them', () => {
  const started = event('recovery.started', {
    label: 'silence',
    evidence: 'no output for 600 s',
    playbook: 'stall-restart',
    action: { type: 'relaunch', name: 'RESTART_WITH_HINT', restart: { number: 1 } },
  })
  expect(sentenceOf(started)).toBe('problem: no output for 600 s; Unstuck restarted the agent with a hint')
  expect(storyOf([started]).map(({ text }) => text)).toEqual([
    'problem: no output for 600 s; Unstuck restarted the agent with a hint [silence, playbook stall-restart, RESTART_WITH_HINT]',
  ])
})

it('keeps the reason of the ladder where a question was asked, because no question names a playbook', () => {
  const asked = event('escalation.opened', { question: 'May it?', happened: 'Claude was refused a command.' })
  const given = event('task.escalated', { label: 'silence', reason: 'stall-restart was tried 5 times' })
  expect(storyOf([given, asked]).map(({ text }) => text)).toEqual([
    'no recovery is left for silence: stall-restart was tried 5 times',
    'a person must decide: Claude was refused a command.',
  ])
})

it('names the task of each line where the story is about several tasks', () => {
  const created = (number: number) => event('task.created', { number, title: 'Work' }, `t-${number}`)
  const failed = event('run.failed', { message: 'silence: no output for 600 s.' }, 't-2')
  expect(storyOf([created(1), created(2), failed]).map(({ text }) => text)).toEqual([
    'task 1 "Work" was queued',
    'task 2 "Work" was queued',
    'task 2: the attempt failed: no output for 600 s.',
  ])
})

it('tells each verdict with its judge, its reasons, its cost and its commit', () => {
  const judged = {
    ...{
      number: 4,
      commit: 'abcdef1234567890',
      mode: 'llm',
      verdict: 'request_changes',
      harness: 'codex',
      tokens: 900,
    },
    ...{ reason: 'the reviewer objects in 1 point', risk: 'low', trigger: 'reviewed' },
    points: [{ path: 'a.ts', line: 3, severity: 'error', what: 'It loses the last line', why: '' }],
  }
  const byPerson = { ...judged, verdict: 'approve', by: 'ann', reason: 'ann approved it', trigger: 'answered' }
  expect(storyOf([event('judge.review', judged), event('judge.review', byPerson)]).map(({ text }) => text)).toEqual([
    'review (llm): changes requested, the reviewer objects in 1 point: a.ts:3: It loses the last line, risk low (codex, 900 tokens) [judgement 4, commit abcdef123456]',
    'review (llm): approved, ann approved it, risk low [judgement 4, commit abcdef123456]',
  ])
})
