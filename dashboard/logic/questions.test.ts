import { expect, test } from 'vitest'
import type { BoardQuestion } from './board.ts'
import {
  answerBody,
  happenedIn,
  remainingActions,
  questionsHere,
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
  [{ page: 'now' } as const, []],
  [{ page: 'task', id: 't-1' } as const, ['q-1']],
  [{ page: 'goal', id: 'g-1' } as const, ['q-2']],
  [{ page: 'run', id: 'r-1' } as const, []],
  [{ page: 'inbox' } as const, []],
])('%j shows the questions that are about it alone', (route, expected) => {
  expect(ids(questionsHere(all, route))).toEqual(expected)
})

test('the link to the inbox counts what waits', () => {
  expect([0, 1, 3].map(waitingText)).toEqual(['Inbox', '1 question waits for you', '3 questions wait for you'])
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
