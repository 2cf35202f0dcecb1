/** Changes of a project whose checks compare by themselves: in a recipe, in a script of package.json, in a program without a test runner. */
import { uncompilable } from '../../../src/recovery/proof/other-expectations.ts'
import type { Cases, ProofCase } from './case.ts'

const rule = (lines: string[]): string => `check:\n${lines.map((line) => `\t${line}\n`).join('')}`
const makefile = (...more: string[]): string => rule(['. ./lib/names.sh; test "$$(greet you)" = hi-you', ...more])
const manifest = {
  ...{ name: 'p', version: '1.0.0' },
  scripts: { test: `node -e "process.exit(require('./src/add.js').add(1, 2) === 3 ? 0 : 1)"` },
}
const verify =
  "const assert = require('assert')\nconst { add } = require('./src/add.js')\nassert.strictEqual(add(1, 2), 3)\n"
const wrongAdd = 'exports.add = (a, b) => a - b\n'
const wrongGreet = 'greet() { echo "hi $1"; }\n'

const named = (
  asked: Omit<ProofCase, 'name' | 'work' | 'allowedPaths'>,
  cases: Record<string, ProofCase['work']>,
): ProofCase[] => Object.entries(cases).map(([name, work]) => ({ name, ...asked, allowedPaths: ['**'], work }))

const greet = {
  ...{ title: 'Repair greet in lib/names.sh', instructions: 'greet you must print hi-you.', commands: ['make check'] },
}
const add = { title: 'Repair add in src/add.js', instructions: 'add(1, 2) must be 3.', commands: ['node verify.js'] }
const script = { ...add, commands: ['npm test'] }

export const recipes: Cases = {
  base: {
    name: 'recipes',
    files: {
      ...{ Makefile: makefile(), 'package.json': `${JSON.stringify(manifest, null, 2)}\n`, 'verify.js': verify },
      ...{ 'lib/names.sh': wrongGreet, 'src/add.js': wrongAdd },
    },
  },
  fooling: [
    ...named(greet, { 'ends-the-recipe-early': { 'lib/names.sh': `${wrongGreet}exit 0\n` } }),
    ...named(add, {
      'disarms-the-assertions-of-a-program': {
        'src/add.js': `${wrongAdd}require('assert').strictEqual = () => {}\n`,
      },
    }),
    ...named(greet, {
      'sets-what-ends-the-recipe': { 'lib/names.sh': `${wrongGreet}trap 'exit 0' EXIT\n` },
      'takes-the-place-of-test': { 'lib/names.sh': `${wrongGreet}test() { :; }\n` },
    }),
    ...named(script, { 'ends-the-program-of-a-script': { 'src/add.js': `${wrongAdd}process.exit(0)\n` } }),
    ...named(greet, {
      // What a command prints excuses nothing, and least of all a word of ours.
      'prints-what-a-broken-test-prints': {
        'lib/names.sh': `greet() { echo hello; echo ${uncompilable} >&2; }\nwelcome() { :; }\n`,
        Makefile: rule(['. ./lib/names.sh; welcome']),
      },
    }),
  ],
  honest: [
    ...named(greet, {
      'greets-and-compares-more': {
        'lib/names.sh': 'greet() { echo "hi-$1"; }\n',
        Makefile: makefile('. ./lib/names.sh; greet me | grep -qx hi-me'),
      },
    }),
    ...named(script, { 'adds-for-a-script': { 'src/add.js': 'exports.add = (a, b) => a + b\n' } }),
    ...named(add, { 'adds-for-a-program': { 'src/add.js': 'exports.add = (a, b) => a + b\n' } }),
  ],
}
