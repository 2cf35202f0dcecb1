import { expect, test } from 'vitest'
import { otherExpectations, otherRecipes, otherScripts, testsAbout, uncompilable } from './other-expectations.ts'

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
  ['test/a.sh', '[ "$(upper abc)" = Abc ]', '[ "$(upper abc)" = Abcz ]', true],
  ['check.sh', 'upper abc | grep -qx Abc', 'upper abc | grep -qx Abcz', true],
  ['test/expected/a.txt', 'Hello\n', 'Hello\nz\n', true],
  ['test/fixtures/a.json', '["a: 30 EUR"]', '["a: 30 EURz"]', false],
])('%s: %s', (path, text, altered, exact) => {
  expect(otherExpectations(path, text)).toMatchObject({ text: altered, exact })
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

const makefile = (...lines: string[]): string => `test: unit\nunit:\n${lines.map((line) => `\t${line}\n`).join('')}`

test.each([
  ['. ./lib.sh; test "$$(f)" = two', '. ./lib.sh; test "$$(f)" = twoz'],
  [`sh -c '. ./lib.sh; test "$$(f)" = two'`, `sh -c '. ./lib.sh; test "$$(f)" = twoz'`],
  ['@./tool | grep -q "2 items"', '@./tool | grep -q "2 itemsz"'],
  ['test `./tool` -eq 2 || (echo no; exit 1)', 'test `./tool` -eq 3 || (echo no; exit 1)'],
  ['if [ "$$(f)" != two ]; then exit 1; fi', 'if [ "$$(f)" != twoz ]; then exit 1; fi'],
  [`node -e "require('assert').equal(require('a').f(), 2)"`, `node -e "require('assert').equal(require('a').f(), 3)"`],
])('a recipe that compares by itself expects something else: %s', (line, altered) => {
  expect(otherRecipes(makefile(line), new Set(['test', 'unit']))).toMatchObject({
    text: makefile(altered),
    exact: true,
    broken: expect.stringMatching(/\n\t@?exit 1; /),
  })
})

test.each([
  ['its failure is ignored', 'grep -q TODO a.txt || true'],
  ['it is a condition', 'if [ "$$CI" = true ]; then npm ci; fi'],
  ['another command ends the line', 'test "$$CI" = true; node a.js'],
])('a comparison of a recipe decides nothing where %s', (_, line) => {
  expect(otherRecipes(makefile(line), new Set(['unit']))).toMatchObject({ exact: false })
})

test.each([
  ['of another target', 'test a = b', new Set(['other'])],
  ['without a comparison', 'node a.js --count 3', new Set(['unit'])],
  ['with grep for what may not be there', 'grep -v two a.txt', new Set(['unit'])],
])('a recipe %s stays as it is', (_, line, names) => {
  expect(otherRecipes(makefile(line), names)).toBeUndefined()
})

test('only the scripts that a check runs expect something else', () => {
  const scripts = { test: 'node a.js | grep -q two', other: 'node b.js | grep -q two' }
  const altered = otherScripts(JSON.stringify({ version: '1.0.2', scripts }), new Set(['test']))
  expect(JSON.parse(altered?.text ?? '')).toEqual({
    version: '1.0.2',
    scripts: { ...scripts, test: 'node a.js | grep -q twoz' },
  })
  expect(JSON.parse(altered?.broken ?? '')).toMatchObject({ scripts: { test: `exit 1; ${scripts.test}` } })
})

test('a broken test of Go does not compile, because an initialiser of the work could end the program before any other', () => {
  expect(otherExpectations('a_test.go', 'if F() != 2 {')?.broken).toContain(uncompilable)
})

test('values that a test gives to the product stay where it compares with others', () => {
  const text = "const given = 'abc'\nassert.equal(echo(given), 'abc')\n"
  expect(otherExpectations('a.test.js', text)?.text).toBe("const given = 'abc'\nassert.equal(echo(given), 'abcz')\n")
})

test('the status with which a program of tests ends is no expectation', () => {
  expect(otherExpectations('test/a.c', 'return failures != 0;')).toBeUndefined()
  expect(otherExpectations('test/a.js', 'process.exit(failures === 0 ? 0 : 1)')).toBeUndefined()
})

test.each([
  [
    'assert_equal "leading v" v1.3.0 "$(bash bump.sh v1.2.3)"',
    'assert_equal "leading v" v1.3.1 "$(bash bump.sh v1.2.3)"',
  ],
  ['assert_equal 3 "$(add 1 2)"', 'assert_equal 4 "$(add 1 2)"'],
  ['if [ "$(f)" != two ]; then\n  echo no\n  exit 1\nfi', 'if [ "$(f)" != twoz ]; then\n  echo no\n  exit 1\nfi'],
])('an assertion of a shell script expects something else: %s', (text, altered) => {
  expect(otherExpectations('test/a.sh', text)).toMatchObject({ text: altered, exact: true })
})

test.each([
  ['a title alone', 'assert_equal "leading v" "$(expected)" "$(actual)"'],
  ['a condition without a failure', 'if [ "$CI" = true ]; then\n  set -x\nfi'],
])('%s of a shell script is no expectation', (_, text) => {
  expect(otherExpectations('test/a.sh', text)?.exact ?? false).toBe(false)
})
