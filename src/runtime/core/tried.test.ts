import { expect, test } from 'vitest'
import { questionWithTried, triedLines } from './tried.ts'

const restart = (detail: string) => ({
  action: { type: 'relaunch', name: 'RESTART_WITH_HINT', restart: { number: 1 } },
  status: 'failed' as const,
  detail,
})

test('a kind of recovery is one line with its count and its last result', () => {
  const recoveries = [restart('the run failed with: old'), restart('the run failed with: something odd')]
  expect(triedLines(recoveries)).toEqual(['restarted the agent with a hint twice: the run failed with: something odd'])
})

test('a result that is the failure of the question itself is not repeated', () => {
  const tried = triedLines([restart('the run failed with: something odd')], 'something odd')
  expect(tried).toEqual(['restarted the agent with a hint once, with the same result'])
  expect(questionWithTried('Task 6 "Parse dates" stopped: the agent failed ("something odd").', tried)).toBe(
    'Task 6 "Parse dates" stopped: the agent failed ("something odd"). Tried: restarted the agent with a hint once, with the same result.',
  )
})
