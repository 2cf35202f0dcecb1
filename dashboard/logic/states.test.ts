import { describe, expect, it } from 'vitest'
import { blockReasons } from '../../src/domain/task.ts'
import { goalStates } from '../../src/domain/goal.ts'
import { taskStates } from '../../src/api/contract.ts'
import { failedTask, task } from './fixture.ts'
import { groupOf, stateWord, taskWord, whyText, withoutCommands } from './states.ts'

it('no state shows a name of the code', () => {
  const all = [...taskStates, ...goalStates, ...blockReasons.map((reason) => `blocked(${reason})`)]
  const shown = all.filter((state) => state !== 'blocked').map(stateWord)
  expect(shown.filter((word) => /[_():]|blocked/.test(word))).toEqual([])
})

describe('a task is in the group', () => {
  const person = { owner: 'person', text: 'its agent asks you: unstuck answer t-a' }
  it.each([
    [task({ status: 'queued' }), 'queued', 'queued'],
    [task({ status: 'running', state: 'running' }), 'running', 'running'],
    [task({ status: 'running', state: 'running', nextStep: person }), 'needs you', 'needs you'],
    [task({ status: 'blocked(awaiting_human)', state: 'blocked' }), 'needs you', 'needs you'],
    [task({ status: 'blocked(awaiting_judge)', state: 'blocked' }), 'waiting', 'in review'],
    [task({ status: 'blocked(quota_wait)', state: 'blocked' }), 'waiting', 'waits for a limit'],
    [task({ status: 'failed', state: 'failed' }), 'failed', 'failed'],
    [task({ status: 'cancelled', state: 'cancelled', nextStep: person }), 'needs you', 'given up'],
    [task({ status: 'cancelled', state: 'cancelled' }), 'cancelled', 'cancelled'],
    // A person paused the goal: nothing is asked.
    [task({ status: 'queued', nextStep: person }), 'queued', 'queued'],
  ])('%#', (one, group, word) => {
    expect([groupOf(one), taskWord(one)]).toEqual([group, word])
  })
})

describe('why a task does not move', () => {
  it('is the failure and the number of the retry', () => {
    const retry = { reason: 'provider_overloaded', at: '2026-01-01T00:00:00.000Z', inSeconds: 60, count: 1, limit: 6 }
    const nextStep = { owner: 'cycle manager', text: 'next attempt (…)', at: retry.at }
    expect(whyText(task({ status: 'failed', state: 'failed', retry, nextStep }))).toBe(
      'provider overloaded (retry 1 of 6)',
    )
    expect(whyText(task({ status: 'failed', state: 'failed', retry: { ...retry, limit: -1 }, nextStep }))).toBe(
      'provider overloaded',
    )
  })

  it('is the cause, where a person is asked', () => {
    expect(whyText(failedTask('t-a', 'expected 1 to be 2'))).toBe('expected 1 to be 2')
  })

  it('is nothing for what has ended', () => {
    expect(whyText(task({ status: 'done', state: 'done', nextStep: { owner: 'nobody', text: 'ended' } }))).toBe('')
  })
})

it.each([
  ['the goal is paused: unstuck resume g-a', 'the goal is paused'],
  [
    'the goal is paused until its branch is restored: unstuck retry g-a | unstuck cancel g-a',
    'the goal is paused until its branch is restored',
  ],
  [
    'its work did not pass ("a.ts"); to allow them: unstuck edit t-a --add-path a.ts --why "…" --retry; the rules are read again',
    'its work did not pass ("a.ts"); the rules are read again',
  ],
  // There is no button for these.
  ['no engine that runs tasks is running: unstuck up, or unstuck worker on any host', undefined],
  ['waiting for an issue: unstuck link t-a <issue>; without it you are asked', undefined],
])('%j keeps only the commands that no button carries out', (text, kept = text) => {
  expect(withoutCommands(text)).toBe(kept)
})
