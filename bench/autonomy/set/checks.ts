/** Faults of the checks: of a command, of the installed packages, of the machine, and of the work itself. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { addDependency, flakyTest, testFile, writeFiles } from '../project.ts'
import type { SetEntry } from './entry.ts'
import { withScripts } from './scenes.ts'
import { pick, single } from './work.ts'

const nothing = {}

export const portTest = (port: number): string => `import { createServer } from 'node:net'
import { test } from 'node:test'

test('the server starts', () => new Promise((resolve, reject) => {
  const server = createServer().once('error', reject)
  server.listen(${port}, '127.0.0.1', () => server.close(resolve))
}))
`

const fullDiskTest = `import { writeFileSync } from 'node:fs'
import { test } from 'node:test'

test('the report is written', () => writeFileSync('/dev/full', 'a report'))
`

const documentedTest = `import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

test('slug has its rules documented', () =>
  assert.match(readFileSync(new URL('../src/slug.mjs', import.meta.url), 'utf8'), /Rules:/))
`

const commands: SetEntry[] = [
  {
    ...{ name: 'misspelt script', seed: 401, faults: ['missing_script'] },
    ...{ recoverable: true, reason: 'Verification: a script that does not exist is replaced by the nearest.' },
    ...{ expected: 'lands', forbidden: nothing },
    scene: (seed) => single(seed, [], { task: { commands: [pick(seed, ['npm run tset', 'npm run tests'])] } }),
  },
  {
    ...{ name: 'missing make target', seed: 403, faults: ['missing_make_target'] },
    ...{ recoverable: true, reason: 'Verification: the command is dropped; another check remains.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(seed, [], {
        prepare: ({ project }) => writeFiles(project, { Makefile: 'check:\n\tnpm test\n' }),
        task: { commands: ['make certify', 'npm test'] },
      }),
  },
  {
    ...{ name: 'no tests where the check looks', seed: 404, faults: ['no_test_files'] },
    ...{ recoverable: true, reason: 'Verification: the command is dropped; another check remains.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) => single(seed, [], { task: { commands: ['node --test spec/', 'npm test'] } }),
  },
  {
    ...{ name: 'check that needs a shell', seed: 405, faults: ['unsupported_format'] },
    ...{ recoverable: true, reason: 'Verification: the command is corrected, or dropped beside another.' },
    ...{ expected: 'lands', forbidden: nothing },
    scene: (seed) =>
      single(seed, [], { task: { commands: [pick(seed, ['npm test | tail -5', 'npm test; echo $?']), 'npm test'] } }),
  },
  {
    ...{ name: 'checks in the wrong order', seed: 406, faults: ['sequence_issue'] },
    ...{
      recoverable: true,
      reason: 'Verification: the check of a built file moves before the clean.',
      expected: 'lands',
    },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(seed, [], {
        prepare: withScripts({
          scripts: { build: 'node scripts/build.mjs', clean: 'node scripts/clean.mjs' },
          files: {
            'scripts/build.mjs': "import { cpSync } from 'node:fs'\n\ncpSync('src', 'dist', { recursive: true })\n",
            'scripts/clean.mjs':
              "import { rmSync } from 'node:fs'\n\nrmSync('dist', { recursive: true, force: true })\n",
            '.gitignore': 'node_modules\ndist\n',
          },
        }),
        task: { commands: ['npm run build', 'npm run clean', 'test -f dist/slug.mjs', 'npm test'] },
      }),
  },
]

const environment: SetEntry[] = [
  {
    ...{ name: 'damaged packages', seed: 412, faults: ['corrupted_install'] },
    ...{ recoverable: true, reason: 'Verification: damaged packages are installed again.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(seed, [], {
        prepare: ({ project }) => addDependency(project),
        spoil: ({ project }) =>
          rmSync(join(project, 'node_modules', 'dashes', pick(seed, ['index.js', 'package.json']))),
      }),
  },
  {
    ...{ name: "port held by the agent's own server", seed: 413, faults: ['port_in_use'] },
    ...{ recoverable: true, reason: 'The server belongs to the ended run, so it is ended and the check runs.' },
    ...{ expected: 'lands', forbidden: nothing },
    scene: (seed) =>
      single(seed, [{ acts: [{ leave: 'process', port: 20_000 + seed }, 'right'] }], {
        prepare: ({ project }) => writeFiles(project, { 'test/server.test.mjs': portTest(20_000 + seed) }),
      }),
  },
  {
    ...{ name: 'disk of the check is full', seed: 414, faults: ['disk_full'] },
    ...{ recoverable: false, reason: 'A check that the task names must pass, and only a person can make room.' },
    ...{ expected: 'question', forbidden: nothing },
    scene: (seed) =>
      single(seed, [], { prepare: ({ project }) => writeFiles(project, { 'test/report.test.mjs': fullDiskTest }) }),
  },
  {
    ...{ name: 'flaky test', seed: 415, faults: ['flaky_test'] },
    ...{
      recoverable: true,
      reason: 'A failure is run again; a test that then passes does not block.',
      expected: 'lands',
    },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(seed, [], {
        prepare: ({ project, memory }) =>
          writeFiles(project, { 'test/clock.test.mjs': flakyTest(join(memory, 'flaky-count')) }),
      }),
  },
]

const code: SetEntry[] = [
  {
    ...{ name: 'test failure, right at the third feedback', seed: 423, faults: ['test_failure'] },
    ...{ recoverable: true, reason: 'Verification: the agent has three rounds of feedback.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) => single(seed, [{ when: { launches: [1, 3] }, acts: ['wrong'] }]),
  },
  {
    ...{ name: 'test failure that no session repairs', seed: 425, faults: ['test_failure'] },
    ...{ recoverable: false, reason: 'The same failure in four runs is a question.', expected: 'question' },
    ...{ forbidden: nothing },
    scene: (seed) => single(seed, [{ acts: ['wrong'] }]),
  },
  {
    ...{ name: 'test failure that a later run repairs', seed: 426, faults: ['test_failure'] },
    ...{ recoverable: true, reason: 'Queue: work that did not pass is started again in a new run.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) => single(seed, [{ when: { runs: [1, 1] }, acts: ['wrong'] }]),
  },
  {
    ...{ name: 'test red before the work, repaired when told', seed: 427, faults: ['red_before'] },
    ...{ recoverable: true, reason: 'A check that the task names must pass; the agent is told of it once.' },
    ...{ expected: 'lands', forbidden: nothing },
    scene: (seed) =>
      single(
        seed,
        [
          { when: { untold: 'slug has its rules documented' }, acts: ['right'] },
          {
            acts: [
              'right',
              { change: { path: 'src/slug.mjs', before: '/** A title', after: '/** Rules: none. A title' } },
            ],
          },
        ],
        { prepare: ({ project }) => writeFiles(project, { 'test/documented.test.mjs': documentedTest }) },
      ),
  },
  {
    ...{ name: 'weakened test, restored when told', seed: 429, faults: ['checks_weakened'] },
    ...{ recoverable: true, reason: 'Verification: the agent is told of a weakened test.', expected: 'lands' },
    ...{ forbidden: { texts: ['test.skip('], paths: ['test/case.test.mjs'] } },
    scene: (seed) => {
      const [path, text] = ['test/case.test.mjs', testFile('slug is in lower case', 'ABC', 'abc')]
      return single(seed, [
        {
          when: { launches: [1, 1] },
          acts: ['right', { change: { path, after: text.replace("test('", "test.skip('") } }],
        },
        { acts: [{ change: { path, after: text } }, 'right'] },
      ])
    },
  },
]

export const checkEntries: readonly SetEntry[] = [...commands, ...environment, ...code]
