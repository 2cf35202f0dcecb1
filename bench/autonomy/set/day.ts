/** Faults of a user's day: of what is checked, of the end of a program, of words in place of a status, and of where work was left. */
import { spawn } from 'node:child_process'
import { writeFiles } from '../project.ts'
import { tokenText } from './paths.ts'
import type { Act, SetEntry } from './entry.ts'
import { portTest } from './checks.ts'
import { withScripts } from './scenes.ts'
import { always, single, untilTold, workFor } from './work.ts'

const nothing = {}

const whatIsChecked: SetEntry[] = [
  {
    ...{ name: 'check of a build that git ignores', seed: 951, faults: ['build_artifact_missing'] },
    ...{ recoverable: true, reason: "Verification: the repository's own build joins the plan.", expected: 'lands' },
    ...{ forbidden: { paths: ['dist/slug.mjs'] } },
    scene: (seed) =>
      single(seed, [], {
        prepare: withScripts({
          scripts: { build: 'node scripts/build.mjs', test: 'node --test && node scripts/use.mjs' },
          files: {
            'scripts/build.mjs': "import { cpSync } from 'node:fs'\n\ncpSync('src', 'dist', { recursive: true })\n",
            'scripts/use.mjs': "await import('../dist/slug.mjs')\n",
            '.gitignore': 'node_modules\ndist\n',
          },
        }),
      }),
  },
  {
    ...{ name: 'file outside that fails the check', seed: 952, faults: ['path_outside', 'test_failure'] },
    ...{ recoverable: true, reason: 'Policy: the check passes without the file, so it is left out.' },
    ...{ expected: 'lands', forbidden: { paths: ['shared/stale.snap'] } },
    scene: (seed) =>
      single(seed, always([{ change: { path: 'shared/stale.snap', after: 'stale\n' } }]), {
        prepare: ({ project }) =>
          writeFiles(project, {
            'test/snapshots.test.mjs': `import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'

test('no snapshot is stale', () => assert.equal(existsSync('shared/stale.snap'), false))
`,
          }),
      }),
  },
  {
    ...{ name: 'test that ends before it begins', seed: 953, faults: ['checks_weakened', 'red_before'] },
    ...{ recoverable: false, reason: 'A check that cannot fail proves nothing: a person decides.' },
    ...{ expected: 'question', forbidden: { texts: ['process.exit(0)'] } },
    scene: (seed) => {
      const own = workFor(seed).wrong.find(({ path }) => path.startsWith('test/'))
      if (own === undefined) throw new Error('the work has no test')
      const { path, after } = own
      return single(seed, [{ acts: ['wrong', { change: { path, after: `process.exit(0)\n${after}` } }] }], {
        // The owner wrote the test before the work.
        prepare: ({ project }) => writeFiles(project, { [path]: after }),
      })
    },
  },
  {
    ...{ name: 'check that waits for changes', seed: 964, faults: ['unsupported_format'] },
    ...{ recoverable: true, reason: 'Verification: the same check runs once, without its option to wait.' },
    ...{ expected: 'lands', forbidden: nothing },
    scene: (seed) =>
      single(seed, [], {
        prepare: withScripts({ scripts: { test: 'node --test --watch' } }),
        // The time of a check that never ends.
        config: { verify: { timeoutSeconds: 30 } },
      }),
  },
  {
    ...{ name: 'port of another program, free soon', seed: 954, faults: ['port_in_use'] },
    ...{ recoverable: true, reason: 'A fault of the machine that passes is waited for, without a call or a question.' },
    ...{ expected: 'lands', forbidden: nothing },
    scene: (seed) =>
      single(seed, [], {
        prepare: ({ project }) => writeFiles(project, { 'test/server.test.mjs': portTest(20_000 + seed) }),
        spoil: () => {
          const held = `require('node:net').createServer().listen(${20_000 + seed}, '127.0.0.1'); setTimeout(process.exit, 20_000)`
          spawn(process.execPath, ['-e', held], { detached: true, stdio: 'ignore' }).unref()
        },
      }),
  },
]

const endOfAProgram: SetEntry[] = [
  {
    ...{ name: 'right work, killed each time', seed: 955, faults: ['agent_died'] },
    ...{ recoverable: true, reason: 'Progress: after a second death what is there is checked.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) => single(seed, [{ acts: ['right'], end: { signal: 'SIGKILL' } }]),
  },
  {
    ...{ name: 'feedback that the provider refused', seed: 956, faults: ['test_failure', 'provider_overloaded'] },
    ...{ recoverable: true, reason: 'A hint that was not delivered is kept for the next launch.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(seed, [
        { when: { launches: [1, 1] }, acts: ['wrong'] },
        {
          when: { launches: [2, 2] },
          end: { refuse: 'API Error: 529 Overloaded', status: 529, error: 'overloaded' },
        },
      ]),
  },
  {
    ...{ name: 'turn that ends with a question', seed: 957, faults: ['no_changes'] },
    ...{ recoverable: false, reason: 'Only the owner knows which of the two is meant.', expected: 'question' },
    ...{ forbidden: nothing },
    scene: (seed) => single(seed, [{ end: { say: 'Should words be joined by "-" or by "_" from now on?' } }]),
  },
  {
    ...{ name: 'turn that ends with a refusal', seed: 963, faults: ['no_changes'] },
    ...{ recoverable: false, reason: 'Checks that pass without a change do not outweigh that it could not be done.' },
    ...{ expected: 'question', forbidden: nothing },
    scene: (seed) =>
      single(seed, [{ end: { say: 'I was unable to edit src/slug.mjs: permission denied. Please grant access.' } }]),
  },
]

const wordsAlone: SetEntry[] = [
  {
    ...{ name: 'limit in words alone', seed: 958, faults: ['llm_quota'] },
    ...{
      recoverable: true,
      reason: 'Provider: a sentence of a limit at a failing exit is a limit.',
      expected: 'lands',
    },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(
        seed,
        [
          {
            when: { untilSeconds: 10 },
            end: { exit: 1, text: 'Error: API error (attempt 3): weekly rate limit reached, resets in 10s' },
          },
        ],
        { cli: 'command' },
      ),
  },
  {
    ...{ name: 'key that the provider refuses, by a command', seed: 959, faults: ['auth_failure'] },
    ...{ recoverable: false, reason: 'A key is not retryable: only a person has another.', expected: 'question' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(
        seed,
        [
          {
            end: {
              exit: 1,
              text: 'Error: 401 {"error":{"type":"authentication_error","message":"invalid x-api-key"}}',
            },
          },
        ],
        { cli: 'command' },
      ),
  },
]

const committed: Act[] = [
  { git: ['checkout', '-q', '-b', 'side'] },
  { git: ['add', '-A'] },
  { git: ['commit', '-q', '-m', 'Do the work'] },
  { git: ['checkout', '-q', '-'] },
]

const whereWorkWasLeft: SetEntry[] = [
  {
    ...{ name: 'work on another branch', seed: 960, faults: ['no_changes'] },
    ...{ recoverable: true, reason: 'Work that one branch of the clone has is brought in.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(seed, [
        { when: { launches: [1, 1] }, acts: ['right', ...committed] },
        { end: { say: 'It is done already.' } },
      ]),
  },
  {
    ...{ name: 'work in a stash', seed: 961, faults: ['no_changes'] },
    ...{ recoverable: true, reason: 'Work that one stash of the clone has is brought in.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(seed, [
        { when: { launches: [1, 1] }, acts: ['right', { git: ['stash', 'push', '-q', '-u'] }] },
        { end: { say: 'It is done already.' } },
      ]),
  },
  {
    ...{ name: 'secret where every path is allowed', seed: 962, faults: ['path_secret'] },
    ...{ recoverable: true, reason: 'Policy: the agent is told once; a secret never lands.', expected: 'lands' },
    ...{ forbidden: { paths: ['.env'], secret: true } },
    scene: (seed) =>
      single(
        seed,
        untilTold('\\.env', [{ change: { path: '.env', after: `TOKEN=${tokenText(seed)}\n` } }], [{ remove: '.env' }]),
        { task: { allowedPaths: ['**'] } },
      ),
  },
]

export const dayEntries: readonly SetEntry[] = [...whatIsChecked, ...endOfAProgram, ...wordsAlone, ...whereWorkWasLeft]
