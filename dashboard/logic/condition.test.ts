import { expect, it } from 'vitest'
import { conditionText } from './condition.ts'

it('says what has to be observed, with the command, and names what it does not know', () => {
  expect(conditionText({ type: 'fewer_failures', command: 'npm test' })).toBe('npm test has fewer failures')
  expect(conditionText({ type: 'a_new_one' })).toBe('a new one')
})
