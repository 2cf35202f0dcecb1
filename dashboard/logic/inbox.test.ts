import { describe, expect, test } from 'vitest'
import { batchNotices, keyOf, movedBy, placeIn, sharedChoices, type InboxQuestion } from './inbox.ts'
import type { QuestionChoice } from './questions.ts'

const retry: QuestionChoice = {
  id: 'retry',
  kind: 'retry',
  label: 'Retry',
  effect: 'Again.',
  command: 'x',
  input: null,
}
const widen = (path: string): QuestionChoice => ({
  ...{ id: 'widen', kind: 'widen', paths: [path], label: `Allow ${path}`, effect: `${path} is allowed.`, command: 'x' },
  input: { name: 'paths', label: 'Paths', required: false, suggested: path },
})
const takeOver: QuestionChoice = { ...retry, id: 'take_over', kind: 'take_over', runId: 'r-1' }

describe('the place in the inbox', () => {
  test('goes to the next question when its own is answered, and to the last one at the end', () => {
    expect(placeIn(['a', 'b', 'c'], undefined)).toEqual({ id: 'a', index: 0 })
    expect(placeIn(['a', 'c'], { id: 'b', index: 1 })).toEqual({ id: 'c', index: 1 })
    expect(placeIn(['a', 'b'], { id: 'c', index: 2 })).toEqual({ id: 'b', index: 1 })
    expect(placeIn([], { id: 'a', index: 0 })).toBeUndefined()
    // A question that came before it moves it along.
    expect(placeIn(['x', 'b'], { id: 'b', index: 0 })).toEqual({ id: 'b', index: 1 })
  })

  test('stops at both ends', () => {
    expect(movedBy(['a', 'b'], { id: 'b', index: 1 }, 1)).toEqual({ id: 'b', index: 1 })
    expect(movedBy(['a', 'b'], { id: 'a', index: 0 }, -1)).toEqual({ id: 'a', index: 0 })
    expect(movedBy(['a', 'b'], { id: 'a', index: 0 }, 1)).toEqual({ id: 'b', index: 1 })
    expect(movedBy([], undefined, 1)).toBeUndefined()
  })
})

test('keys are digits, letters and arrows; all others are left to the browser', () => {
  expect(['1', '9', 'j', 'ArrowUp'].map(keyOf)).toEqual([
    { do: 'choose', choice: 1 },
    { do: 'choose', choice: 9 },
    { do: 'move', step: 1 },
    { do: 'move', step: -1 },
  ])
  expect(['0', '12', 'Enter', 'Tab', ' ', 'J', '?', 'constructor', ''].map(keyOf)).toEqual(Array(9).fill(undefined))
})

describe('the choices for several questions', () => {
  test('are those that all of them offer, without the ones for one alone', () => {
    const shared = sharedChoices([{ choices: [retry, takeOver, widen('a')] }, { choices: [takeOver, retry] }])
    expect(shared.map(({ id }) => id)).toEqual(['retry'])
    expect(sharedChoices([])).toEqual([])
  })

  test('keep the suggestion of each where these differ', () => {
    const [shared] = sharedChoices([{ choices: [widen('a')] }, { choices: [widen('b')] }])
    expect(shared).toMatchObject({
      label: 'Widen',
      effect: 'For the first of them: a is allowed.',
      input: { suggested: null, required: false, label: 'Paths; empty = the suggestion of each question' },
    })
    expect(sharedChoices([{ choices: [widen('a')] }, { choices: [widen('a')] }])[0]).toEqual({
      ...widen('a'),
      command: '',
    })
  })
})

test('what became of several answers is told, each refusal with its task', () => {
  const question = {
    id: 'q-2',
    goal: { id: 'g-1', title: 'G' },
    task: { id: 't-2', number: 2, title: 'Two' },
  } as InboxQuestion
  const results = [
    { id: 'q-1', answered: null, error: null },
    { id: 'q-2', answered: null, error: { code: 'STALE', message: 'question q-2 is already decided: retry' } },
  ]
  expect(batchNotices(results, [question], 'Retry')).toEqual([
    { tone: 'good', text: 'Retry: 1 of 2 answered.' },
    { tone: 'bad', text: '#2 Two: question q-2 is already decided: retry' },
  ])
})
