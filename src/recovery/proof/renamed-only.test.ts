import { expect, test } from 'vitest'
import { onlyRenames } from './renamed-only.ts'

const subject = [{ path: 'src/price.js', before: 'export const label = 1', after: 'export const euros = 1' }]
const testOf = (before: string, after: string) => [{ path: 'test/price.test.js', before, after }]

test('names that are gone may be replaced, also in the names of tests', () => {
  expect(onlyRenames(testOf('TestLabel = label(5) == 5', 'TestLabel = euros(5) == 5'), subject)).toBe(true)
  expect(onlyRenames(testOf('Testlabel(label)', 'Testeuros(euros)'), subject)).toBe(true)
})

test.each([
  ['another value', 'label(5) == 5', 'euros(5) == 6'],
  ['another word', 'label(5).toEqual(5)', 'euros(5).toBeTruthy(5)'],
  ['a line less', 'label(5)\nlabel(6)', 'euros(5)'],
  ['a name for two', 'label(5) + other(6)', 'euros(5) + euros(6)'],
  ['a name that was there', 'label(5)', 'price(5)'],
])('%s is no renaming', (_, before, after) => {
  expect(onlyRenames(testOf(before, after), subject)).toBe(false)
})

test('a test that moved together with what it tests expects the same', () => {
  const moved = [
    { path: 'src/price.js', before: 'x' },
    { path: 'src/prices.js', after: 'x' },
  ]
  const tests = [
    { path: 'test/price.js', before: 'import price' },
    { path: 'test/prices.js', after: 'import prices' },
  ]
  expect(onlyRenames(tests, moved)).toBe(true)
  expect(onlyRenames(tests.slice(0, 1), moved)).toBe(false)
})
