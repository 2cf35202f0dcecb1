import { expect, test } from 'vitest'
import { otherExpectations, testsAbout } from './other-expectations.ts'

test.each([
  [
    'test/a.test.js',
    '  assert.equal(total([{ price: 300 }]), 650)',
    '  assert.equal(total([{ price: 300 }]), 651)',
    true,
  ],
  ['test/a.test.js', "  expect(label(5)).toEqual('0.05 €')", "  expect(label(5)).toEqual('0.05 €z')", true],
  ['test/a.test.js', "it('adds', () => { check(1) })", "it('adds', () => { check(2) })", false],
  [
    'tests/test_a.py',
    'assert label(1250) == "12.50 EUR", "no label"',
    'assert label(1250) == "12.50 EURz", "no label"',
    true,
  ],
  ['a_test.go', 'if got := Total(2); got != 650 {', 'if got := Total(2); got != 651 {', true],
  [
    'test/a.sh',
    'test "$(upper abc)" = "Abc" || fail "upper: $(upper abc)"',
    'test "$(upper abc)" = "Abcz" || fail "upper: $(upper abc)"',
    true,
  ],
  ['test/expected/a.txt', 'Hello\n', 'Hello\nz\n', true],
  ['test/fixtures/a.json', '["a: 30 EUR"]', '["a: 30 EURz"]', false],
])('%s: %s', (path, text, altered, exact) => {
  expect(otherExpectations(path, text)).toEqual({ text: altered, exact })
})

test.each([
  ['test/a.test.js', "import { total } from '../src/total.js'"],
  ['test/a.test.js', "const total = require('total')"],
  ['test/a.test.js', "// counts 3 things\ntest('the 3 things', (t) => {"],
  ['test/a.png', '7'],
])('%s: %s stays as it is', (path, text) => {
  expect(otherExpectations(path, text)).toBeUndefined()
})

test('only the tests that speak of the changed files are taken, if there are any', () => {
  const tests = [
    { path: 'test/price.test.js', text: '' },
    { path: 'test/rate.test.js', text: '' },
  ]
  expect(testsAbout(['src/price.js'], tests)).toEqual([tests[0]])
  expect(testsAbout(['src/other.js'], tests)).toEqual(tests)
})
