/** What a person reads in `status` about a question. */
import { expect, test } from 'vitest'
import { questionTopic, type Choice } from './escalation.ts'
import { questionLines } from './question-lines.ts'

const choice = (kind: 'approve' | 'retry'): Choice => ({
  ...{ id: kind, kind, label: kind, effect: '', command: `unstuck ${kind} t-1`, input: null },
})
const asked = (kind: 'approve' | 'retry') => ({
  happened: 'It waits.',
  tried: [],
  choices: [choice(kind)],
  ...{ runId: 'r-1', kind: 'exhausted' as const, details: '' },
})

test('finished work is looked at by what it changes, a failure by its output', () => {
  expect(questionLines(asked('approve')).at(-1)).toBe('To look at the work: unstuck diff r-1')
  expect(questionLines(asked('retry')).at(-1)).toBe('To see its output: unstuck logs r-1')
})

test('a question has a topic in plain words, and finished work is no failure', () => {
  expect(questionTopic({ kind: 'exhausted', choices: [choice('approve')] })).toBe('finished work')
  expect(questionTopic({ kind: 'exhausted', choices: [choice('retry')] })).toBe('nothing left to try')
  // A refused login or model is known, and its question names it.
  expect(questionTopic({ kind: 'no_playbook', choices: [choice('retry')] })).not.toMatch(/unknown/)
})
