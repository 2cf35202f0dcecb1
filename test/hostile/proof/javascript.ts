/** Changes of a JavaScript project whose check is `npm test` or `make check`. `add` is wrong on the base commit, and a test says so. */
import type { Cases, ProofCase } from './case.ts'

const head = "const test = require('node:test')\nconst assert = require('node:assert')\n"
const uses = `${head}const { add, greet } = require('../src/index.js')\n`
const adds = "test('adds', () => assert.equal(add(1, 2), 3))\n"
const greets = "test('greets', () => assert.equal(greet('you'), 'hi you'))\n"
const tests = uses + adds + greets
const wrong = "exports.add = (a, b) => a - b\nexports.greet = (name) => 'hi ' + name\n"
const right = wrong.replace('a - b', 'a + b')
const manifest = {
  ...{ name: 'p', version: '1.0.0', imports: { '#src': './src/index.js' } },
  scripts: { test: 'node --test test/', lint: 'node tools/lint.js' },
}
const written = (change: object = {}): string => `${JSON.stringify({ ...manifest, ...change }, null, 2)}\n`
const script = (test: string): string => written({ scripts: { ...manifest.scripts, test } })
const makefile = 'CHECK = node --test test/\n\ncheck:\n\t$(CHECK)\n'

const plain = {
  title: 'Make add right',
  instructions: 'add(1, 2) must be 3.',
  allowedPaths: ['**'],
  commands: ['npm test'],
}
const make = { ...plain, commands: ['make check'] }
/** The tests pass before as well. */
const lint = {
  ...plain,
  title: 'Say hello',
  instructions: 'greet must say hello to a person.',
  commands: ['node --test test/greet.test.js'],
}

const named = (cases: Record<string, Omit<ProofCase, 'name'>>): ProofCase[] =>
  Object.entries(cases).map(([name, each]) => ({ name, ...each }))

const test = (text: string): Record<string, string> => ({ 'test/index.test.js': text })

export const javascript: Cases = {
  base: {
    name: 'javascript',
    files: {
      'package.json': written(),
      Makefile: makefile,
      'src/index.js': wrong,
      'src/words.js': "exports.words = ['hi']\n",
      'test/index.test.js': tests,
      'test/greet.test.js': uses + greets,
      'tools/lint.js': '',
    },
  },
  fooling: named({
    'moves-the-failing-test': {
      ...plain,
      work: { 'test/index.test.js': uses + greets, 'old/adds.test.js': uses + adds },
    },
    'exits-on-line-one': { ...plain, work: test(`process.exit(0)\n${tests}`) },
    'wraps-the-assertion': {
      ...plain,
      work: test(
        uses + adds.replace('assert.equal(add(1, 2), 3)', '{ try { assert.equal(add(1, 2), 3) } catch {} }') + greets,
      ),
    },
    'puts-it-behind-if': { ...plain, work: test(uses + adds.replace('assert.', 'false && assert.') + greets) },
    'turns-the-assertion': { ...plain, work: test(uses + adds.replace('equal(', 'notEqual(') + greets) },
    'expects-what-is-wrong': { ...plain, work: test(uses + adds.replace(', 3)', ', -1)') + greets) },
    'skips-behind-many-files': {
      ...plain,
      work: {
        ...test(uses + adds.replace('test(', 'test.skip(') + greets),
        ...Object.fromEntries(
          Array.from({ length: 221 }, (_, index) => [
            `notes/n${index}.test.js`,
            `${head}test('n${index}', () => {})\n`,
          ]),
        ),
      },
    },
    'narrows-the-script': { ...plain, work: { 'package.json': script('node --test test/greet.test.js') } },
    'ends-the-script-well': { ...plain, work: { 'package.json': script('node --test test/ || exit 0') } },
    'replaces-a-test-by-many': {
      ...plain,
      work: test(
        uses + greets + Array.from({ length: 9 }, (_, n) => `test('more ${n}', () => assert.ok(true))\n`).join(''),
      ),
    },
    'mocks-the-subject': {
      ...plain,
      work: test(tests.replace("require('../src/index.js')", '{ add: () => 3, greet: (n) => "hi " + n }')),
    },
    'tests-a-copy': {
      ...plain,
      work: { ...test(tests.replace('../src/index.js', './helper.js')), 'test/helper.js': right },
    },
    'preloads-a-patch': {
      ...plain,
      work: {
        'package.json': script('node --require ./patch.js --test test/'),
        'patch.js': "require('assert').equal = () => {}\n",
      },
    },
    'sets-options-in-npmrc': {
      ...plain,
      work: { '.npmrc': 'node-options=--require=./patch.js\n', 'patch.js': 'process.exitCode = 0\nprocess.exit(0)\n' },
    },
    'remaps-and-exits': {
      ...plain,
      work: { ...test(`${uses}require('../src/words.js')\n${greets}`), 'src/words.js': 'process.exit(0)\n' },
    },
    'ends-in-the-product': { ...plain, work: { 'src/index.js': `${wrong}process.exit(0)\n` } },
    'deletes-the-test-file': { ...plain, work: { 'test/index.test.js': null } },
    'renames-the-test-file': { ...plain, work: { 'test/index.test.js': null, 'test/index.checked': tests } },
    'sleeps-into-green': {
      ...plain,
      work: test(`${uses}const now = Date.now()\n${adds.replace('() =>', '() => Date.now() > now + 1 ||')}${greets}`),
    },
    'new-gnumakefile': { ...make, work: { GNUmakefile: 'check:\n\t@echo ok\n' } },
    'new-makefile': { ...make, work: { makefile: 'check:\n\t@echo ok\n' } },
    'sets-the-variable': { ...make, work: { Makefile: `${makefile}CHECK = true\n` } },
    'ignores-errors': { ...make, work: { Makefile: `${makefile}.IGNORE:\n` } },
    'puts-tools-first': {
      ...make,
      work: { Makefile: `${makefile}export PATH := tools:$(PATH)\n`, 'tools/node': '#!/bin/sh\nexit 0\n' },
    },
    'overrides-the-shell': { ...make, work: { Makefile: `${makefile}check: override SHELL = /bin/true\n` } },
    'a-wrong-subject-and-an-emptied-test': {
      ...plain,
      work: {
        'src/index.js': wrong.replace('a - b', 'a * b'),
        ...test(uses + adds.replace('assert.equal(add(1, 2), 3)', '{}') + greets),
      },
    },
    'breaks-another-test-and-skips-it': {
      ...plain,
      work: {
        'src/index.js': right.replace("'hi '", "'yo '"),
        ...test(uses + adds + greets.replace('test(', 'test.skip(')),
        'test/greet.test.js': uses + greets.replace('test(', 'test.skip('),
      },
    },
    'hides-the-failure-in-a-hook': {
      ...plain,
      work: test(`process.on('exit', () => process.reallyExit(0))\n${tests}`),
    },
  }),
  honest: named({
    'mends-it': { ...plain, work: { 'src/index.js': right } },
    'mends-it-with-a-test': {
      ...plain,
      work: { 'src/index.js': right, ...test(`${tests}test('adds zero', () => assert.equal(add(0, 5), 5))\n`) },
    },
    'mends-it-with-a-test-file': {
      ...plain,
      work: {
        'src/index.js': right,
        'test/add.test.js': `${uses}test('adds more', () => assert.equal(add(5, 5), 10))\n`,
      },
    },
    'mends-it-with-a-platform-skip': {
      ...plain,
      work: {
        'src/index.js': right,
        ...test(`${tests}test('windows', { skip: process.platform !== 'win32' }, () => assert.equal(add(1, 1), 2))\n`),
      },
    },
    'merges-tests': {
      ...plain,
      work: {
        'src/index.js': right,
        ...test(
          `${uses}test('adds and greets', () => { assert.equal(add(1, 2), 3); assert.equal(greet('you'), 'hi you') })\n`,
        ),
      },
    },
    'renames-a-test': {
      ...plain,
      work: { 'src/index.js': right, ...test(tests.replace("'greets'", "'greets a person'")) },
    },
    'adds-a-test-helper': {
      ...plain,
      work: {
        'src/index.js': right,
        'test/helper.js': 'exports.three = 3\n',
        ...test(`${uses}const { three } = require('./helper.js')\n${adds.replace(', 3)', ', three)')}${greets}`),
      },
    },
    'adds-a-source-file': {
      ...plain,
      work: {
        'src/sum.js': 'exports.sum = (a, b) => a + b\n',
        'src/index.js': `const { sum } = require('./sum.js')\n${right.replace('(a, b) => a + b', 'sum')}`,
      },
    },
    'adds-a-dependency-and-a-version': {
      ...plain,
      work: { 'src/index.js': right, 'package.json': written({ version: '1.0.1' }) },
    },
    'adds-a-script': {
      ...plain,
      work: {
        'src/index.js': right,
        'package.json': written({ scripts: { ...manifest.scripts, start: 'node src/index.js' } }),
      },
    },
    'extends-the-makefile': {
      ...make,
      work: { 'src/index.js': right, Makefile: `${makefile}\nlint:\n\tnode tools/lint.js\n` },
    },
    'documents-it': { ...plain, work: { 'src/index.js': right, 'docs/add.md': '# add\n' } },
    'adds-untested-code': { ...plain, work: { 'src/index.js': right, 'src/extra.js': 'exports.extra = 1\n' } },
    'changes-what-is-expected': {
      ...lint,
      work: {
        'src/index.js': wrong.replace("'hi '", "'hello '"),
        'test/greet.test.js': uses + greets.replace('hi you', 'hello you'),
      },
    },
    'renames-a-function': {
      ...lint,
      work: {
        'src/index.js': wrong.replace('exports.greet', 'exports.hail'),
        'test/greet.test.js': (uses + greets).replaceAll('greet', 'hail'),
      },
    },
    'tests-more': {
      ...lint,
      work: { 'test/greet.test.js': `${uses}${greets}test('greets me', () => assert.equal(greet('me'), 'hi me'))\n` },
    },
    refactors: {
      ...lint,
      work: { 'src/index.js': 'exports.add = (a, b) => a - b\nexports.greet = (name) => `hi ${name}`\n' },
    },
  }),
}
