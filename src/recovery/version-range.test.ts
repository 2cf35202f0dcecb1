import { describe, expect, test } from 'vitest'
import { isInRange } from './version-range.ts'

describe('a range is met', () => {
  test.each([
    ['20.11.1', '20'],
    ['20.11.1', '>=18'],
    ['20.11.1', '>=18 <21'],
    ['20.11.1', '^18.0.0 || ^20.10'],
    ['20.11.1', '~20.11.0'],
    ['20.11.1', '18 - 20'],
    ['20.11.1', '20.x'],
    ['20.11.1', 'v20.11.1'],
    ['20.11.1', '*'],
    ['20.11.1', '>= 18.0.0'],
    ['3.11.7', '>=3.9,<4'],
    ['3.11.7', '~=3.9'],
    ['3.11.7', '!=3.10.*'],
    ['1.22', '>=1.22'],
    ['0.2.9', '^0.2.3'],
    ['20.11.1', '<=20'],
  ])('%s meets %s', (found, range) => expect(isInRange(found, range)).toBe(true))
})

describe('a range is not met', () => {
  test.each([
    ['20.11.1', '>=22'],
    ['20.11.1', '18'],
    ['20.11.1', '^22.0.0 || ^18'],
    ['20.11.1', '~20.10.0'],
    ['20.11.1', '>20'],
    ['20.11.1', '<20'],
    ['3.12.0', '>=3.9,<3.12'],
    ['3.11.7', '~=3.9.1'],
    ['3.11.7', '!=3.11.*'],
    ['0.3.0', '^0.2.3'],
    ['0.0.4', '^0.0.3'],
    ['1.21.4', '>=1.22'],
  ])('%s does not meet %s', (found, range) => expect(isInRange(found, range)).toBe(false))
})

test('a form that is not understood gives no result', () => {
  expect(isInRange('20.11.1', 'lts/*')).toBeUndefined()
  expect(isInRange('20.11.1', 'stable')).toBeUndefined()
  expect(isInRange('20.11.1', '>=18.0.0-beta.1')).toBeUndefined()
  expect(isInRange('unknown', '>=18')).toBeUndefined()
  // One that is met decides, whatever stands beside it.
  expect(isInRange('20.11.1', 'lts/* || 20')).toBe(true)
})
