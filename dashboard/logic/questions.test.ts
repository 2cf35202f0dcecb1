import { expect, test } from 'vitest'
import type { BoardQuestion } from './board.ts'
import {
  answerBody,
  happenedIn,
  keyTarget,
  remainingActions,
  splitQuestions,
  waitingText,
  type QuestionChoice,
} from './questions.ts'

const question = (id: string, goalId: string, taskId: string | null): BoardQuestion => ({
  ...{ id, goalId, taskId, runId: 'r-1', kind: 'exhausted', happened: 'It failed.', tried: [], question: 'What now?' },
  ...{ details: '', choices: [], state: 'pending', answer: null, version: 1, createdAt: '', decidedAt: null },
})

const all = [question('q-1', 'g-1', 't-1'), question('q-2', 'g-1', null), question('q-3', 'g-2', 't-2')]
const ids = (found: BoardQuestion[]): string[] => found.map(({ id }) => id)

test.each([
  [{ page: 'board' } as const, []],
  [{ page: 'task', id: 't-1' } as const, ['q-1']],
  [{ page: 'goal', id: 'g-1' } as const, ['q-2']],
  [{ page: 'run', id: 'r-1' } as const, []],
])('%j shows the questions that are about it alone', (route, expected) => {
  const { here, elsewhere } = splitQuestions(all, route)
  expect(ids(here)).toEqual(expected)
  expect([...ids(here), ...ids(elsewhere)].sort()).toEqual(ids(all))
})

test('the line on top counts what is not on the page', () => {
  expect([waitingText(3, 0), waitingText(1, 0), waitingText(1, 1), waitingText(2, 1)]).toEqual([
    '3 questions wait for you',
    '1 question waits for you',
    '1 other question waits for you',
    '2 other questions wait for you',
  ])
})

test('a question of an older version is shown by its one text', () => {
  const old = { ...all[0], happened: '' } as BoardQuestion
  expect(happenedIn(old)).toBe('What now?')
  expect(happenedIn(all[0] as BoardQuestion)).toBe('It failed.')
})

test('a text goes with a choice that takes one, unless it is empty', () => {
  const plain: QuestionChoice = { id: 'retry', kind: 'retry', label: '', effect: '', command: '', input: null }
  const input = { name: 'hint', label: 'Hint', required: true, suggested: null } as const
  const hint: QuestionChoice = { ...plain, id: 'hint', kind: 'hint', input }
  expect(answerBody(plain, 'x')).toEqual({ choice: 'retry', by: 'dashboard' })
  expect(answerBody(hint, '  ')).toEqual({ choice: 'hint', by: 'dashboard' })
  expect(answerBody(hint, ' go on ')).toEqual({ choice: 'hint', input: 'go on', by: 'dashboard' })
})

test('a page shows each action once: what the question offers is not repeated', () => {
  const choices = (...kinds: string[]): QuestionChoice[] => kinds.map((kind) => ({ kind }) as QuestionChoice)
  const actions = ['retry', 'take-over', 'edit', 'cancel'] as const
  expect(remainingActions(actions, [])).toEqual(actions)
  expect(remainingActions(actions, choices('hint', 'take_over', 'cancel'))).toEqual(['edit'])
  expect(remainingActions(actions, choices('widen', 'cancel'))).toEqual(['retry', 'take-over', 'edit'])
  // A plain retry takes no hint, so the retry with one stays.
  expect(remainingActions(actions, choices('retry', 'cancel'))).toEqual(['hint', 'take-over', 'edit'])
})

test('d leads to the diff and l to the log of the run, other keys nowhere', () => {
  expect(['d', 'l', 'D', 'x'].map((key) => keyTarget(key, 'r-1'))).toEqual([
    '#/runs/r-1/diff',
    '#/runs/r-1/log',
    undefined,
    undefined,
  ])
})
