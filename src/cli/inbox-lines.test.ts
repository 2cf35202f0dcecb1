import { expect, test } from 'vitest'
import type { InboxQuestion, InboxView } from '../api/contract.ts'
import { commandReport } from '../recovery/proposal/command-risks.ts'
import { inboxLines } from './inbox-lines.ts'
import { createPaint } from './render.ts'

const retry = {
  id: 'retry',
  kind: 'retry',
  label: 'Retry',
  effect: 'It is tried again.',
  command: 'unstuck retry t-1',
  input: null,
} as const
const question = (number: number): InboxQuestion => ({
  ...{
    id: `q-${number}`,
    goalId: 'g-1',
    taskId: `t-${number}`,
    runId: 'r-1',
    kind: 'exhausted',
    happened: `It\u001b[31m failed ${number}.`,
  },
  ...{
    tried: ['asked again'],
    question: '',
    details: '',
    choices: [retry],
    state: 'pending',
    answer: null,
    version: 1,
  },
  ...{ createdAt: new Date(0).toISOString(), decidedAt: null, number, goal: { id: 'g-1', title: 'Goal' } },
  ...{ task: { id: `t-${number}`, number, title: 'Do it' }, run: null, failure: null, proposal: null },
})
const command = 'rm -rf node_modules && npm install'
const proposed: InboxQuestion = {
  ...question(3),
  proposal: {
    ...{ id: 'p-1', category: 'dependency', severity: 'blocking', rootCause: 'two versions', expected: 'it starts' },
    ...{ evidence: ['test-output.txt:3: Host version'], doubt: null, problem: null },
    commands: [
      { step: 'primary', command, workingDir: '.', timeoutSeconds: 120, confidence: 'high', ...commandReport(command) },
    ],
  },
}
const view = (...groups: InboxQuestion[][]): InboxView => ({
  at: '',
  count: groups.flat().length,
  groups: groups.map((questions) => ({ id: 'x', kind: 'exhausted', cause: 'the same', questions })),
})
const lines = (shown: InboxView): string => inboxLines(createPaint(false), shown).join('\n')

test('questions are numbered, grouped, and show their choices by number and command; nothing controls the terminal', () => {
  expect(lines(view([question(1), question(2)], [proposed]))).toBe(`2 with the same cause: the same
1 #1 Do it [q-1] nothing left to try
    It failed 1.
    Tried: asked again
    1 Retry: It is tried again.
      unstuck retry t-1
2 #2 Do it [q-2] nothing left to try
    It failed 2.
    Tried: asked again
    1 Retry: It is tried again.
      unstuck retry t-1

3 #3 Do it [q-3] nothing left to try
    It failed 3.
    Proposed: rm -rf node_modules && npm install
      deletes: deletes node_modules
      network: downloads from the network
      changes lockfile: may change the lockfile
      runs package scripts: runs install scripts of packages
    Cause: two versions
    Evidence: test-output.txt:3: Host version
    Tried: asked again
    1 Retry: It is tried again.
      unstuck retry t-1`)
})

test('an empty inbox says so', () => {
  expect(lines(view())).toBe('No question waits for you.')
})
