import { expect, test } from 'vitest'
import { actionOf } from './policy-events.ts'

test('the applied action is allow, discard or allow+discard', () => {
  const applied = (allowed: string[], discarded: string[]) =>
    actionOf({ attempt: 1, by: 'model', allowed, discarded, reasons: [] })
  expect(applied(['a'], [])).toBe('allow')
  expect(applied([], ['b'])).toBe('discard')
  expect(applied(['a'], ['b'])).toBe('allow+discard')
})
