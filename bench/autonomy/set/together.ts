/** Tasks that meet, and the ten entries with two faults: the second begins where the first ends. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { addDependency, flakyTest, writeFiles } from '../project.ts'
import type { SetEntry, SetScene, Turn } from './entry.ts'
import { tokenText } from './paths.ts'
import { commitToSameLine, coverScript, withScripts } from './scenes.ts'
import { always, playOf, single, taskOf, untilTold, workFor } from './work.ts'

const nothing = {}

/** Two tasks that change the same line. Areas of their own let them run side by side, and each begins when the other has begun. */
const twoTasks = (seed: number, turns: Turn[] = []): SetScene => {
  const pair = [workFor(seed), workFor(seed + 1)]
  return {
    tasks: pair.map((work, at) => taskOf(work, { targetArea: `part ${at + 1}` })),
    plays: pair.map((work, at) => playOf(work, [...(at === 0 ? turns : []), { acts: ['meet', 'right'] }])),
    cli: 'claude',
    expected: Object.assign({}, ...pair.map(({ expected }) => expected)) as Record<string, string>,
    files: [...new Set(pair.flatMap(({ files }) => files))],
  }
}

export const mergeEntries: readonly SetEntry[] = [
  {
    ...{ name: 'two tasks on one line', seed: 701, faults: ['git_conflict'] },
    ...{ recoverable: true, reason: 'Merge: a conflict is worked on again on a newer base.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) => twoTasks(seed),
  },
]

/** Refuses code that does not parse, as a type check would. */
const parseScript = `import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'

for (const name of readdirSync('src').filter((name) => name.endsWith('.mjs')))
  execFileSync(process.execPath, ['--check', \`src/\${name}\`], { stdio: 'inherit' })
`

/** Reports like a linter. */
const lintScript = `import { readdirSync, readFileSync } from 'node:fs'

for (const name of readdirSync('src')) {
  const found = /\\bvar\\b/.exec(readFileSync(\`src/\${name}\`, 'utf8'))
  if (found === null) continue
  console.log(\`src/\${name}\\n  1:\${found.index + 1}  error  Unexpected var, use let or const instead  no-var\\n\\n1 problem (1 error, 0 warnings)\`)
  process.exitCode = 1
}
`

const cyrillic = 'ѕrc/extra.mjs'

export const doubleEntries: readonly SetEntry[] = [
  {
    ...{ name: 'overload, then a lint error', seed: 801, faults: ['provider_overloaded', 'lint_error'] },
    ...{ recoverable: true, reason: 'Each is recoverable, and each has its own budget.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(
        seed,
        [
          {
            when: { launches: [1, 1] },
            end: {
              exit: 1,
              text: 'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
            },
          },
          {
            when: { untold: 'src/dash\\.mjs' },
            acts: ['right', { change: { path: 'src/dash.mjs', after: "export var dash = '-'\n" } }],
          },
          { acts: [{ remove: 'src/dash.mjs' }, 'right'] },
        ],
        {
          cli: 'command',
          prepare: withScripts({
            scripts: { lint: 'node scripts/lint.mjs' },
            files: { 'scripts/lint.mjs': lintScript },
          }),
          task: { commands: ['npm test', 'npm run lint'] },
        },
      ),
  },
  {
    ...{ name: 'limit, then a commit of the user to the same line', seed: 802, faults: ['llm_quota', 'git_conflict'] },
    ...{ recoverable: true, reason: 'The limit is waited out; the conflict is worked on again.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(
        seed,
        [
          {
            when: { untilSeconds: 12 },
            end: { refuse: "You've hit your limit", status: 429, error: 'rate_limit', resetsIn: 12 },
          },
          { acts: ['wait', 'right'] },
        ],
        { meanwhile: commitToSameLine },
      ),
  },
  {
    ...{ name: 'crash, then a syntax error', seed: 803, faults: ['unknown', 'compile_error'] },
    ...{ recoverable: true, reason: 'An unknown exit is restarted once; the agent is told of the failure.' },
    ...{ expected: 'lands', forbidden: { paths: ['src/dash.mjs'] } },
    scene: (seed) =>
      single(
        seed,
        [
          { when: { launches: [1, 1] }, end: { exit: 9, text: 'something odd happened' } },
          {
            when: { untold: 'SyntaxError|src/dash\\.mjs' },
            acts: ['right', { change: { path: 'src/dash.mjs', after: 'export const = 1\n' } }],
          },
          { acts: [{ remove: 'src/dash.mjs' }, 'right'] },
        ],
        {
          prepare: withScripts({
            scripts: { test: 'node scripts/parse.mjs && node --test' },
            files: { 'scripts/parse.mjs': parseScript },
          }),
        },
      ),
  },
  {
    ...{ name: 'silence, then notes outside', seed: 804, faults: ['stuck_after_tool_result', 'path_outside'] },
    ...{ recoverable: true, reason: 'Each is recoverable, and each has its own budget.', expected: 'lands' },
    ...{ forbidden: { paths: ['scratch.md'] } },
    scene: (seed) =>
      single(seed, [
        { when: { launches: [1, 1] }, end: 'tool result then silence' },
        ...untilTold(
          'scratch\\.md',
          [{ change: { path: 'scratch.md', after: 'Only notes of mine.\n' } }],
          [{ remove: 'scratch.md' }],
        ),
      ]),
  },
  {
    ...{ name: 'no changes, then an unknown option', seed: 805, faults: ['no_changes', 'invalid_usage'] },
    ...{
      recoverable: true,
      reason: 'A restart with a hint; the command is dropped beside another.',
      expected: 'lands',
    },
    ...{ forbidden: nothing },
    scene: (seed) =>
      single(seed, [{ when: { launches: [1, 1] }, end: { say: 'All done.' } }], {
        task: { commands: ['node --no-such-option --test', 'npm test'] },
      }),
  },
  {
    ...{ name: 'secret in the text, then a test failure', seed: 806, faults: ['secret_text', 'test_failure'] },
    ...{ recoverable: true, reason: 'The agent takes the secret back and is told of the failure.', expected: 'lands' },
    ...{ forbidden: { paths: ['src/client.mjs'], texts: [tokenText(806)], secret: true } },
    scene: (seed) =>
      single(seed, [
        {
          when: { untold: 'src/client\\.mjs' },
          acts: ['wrong', { change: { path: 'src/client.mjs', after: `export const key = '${tokenText(seed)}'\n` } }],
        },
        { when: { untold: workFor(seed).test }, acts: [{ remove: 'src/client.mjs' }, 'wrong'] },
        { acts: [{ remove: 'src/client.mjs' }, 'right'] },
      ]),
  },
  {
    ...{ name: 'generated coverage beside a flaky test', seed: 807, faults: ['path_generated', 'flaky_test'] },
    ...{ recoverable: true, reason: 'What a check makes again is left out; a flaky test does not block.' },
    ...{ expected: 'lands', forbidden: { paths: ['coverage/lcov.info'] } },
    scene: (seed) =>
      single(seed, always([{ node: ['scripts/cover.mjs'] }]), {
        prepare: ({ project, memory }) => {
          withScripts({
            scripts: { test: 'node scripts/cover.mjs && node --test' },
            files: { 'scripts/cover.mjs': coverScript },
          })({ project, memory })
          writeFiles(project, { 'test/clock.test.mjs': flakyTest(join(memory, 'flaky-count')) })
        },
      }),
  },
  {
    ...{ name: 'no connection, then two tasks on one line', seed: 808, faults: ['network_transient', 'git_conflict'] },
    ...{ recoverable: true, reason: 'The connection is retried; the conflict is worked on again.', expected: 'lands' },
    ...{ forbidden: nothing },
    scene: (seed) =>
      twoTasks(seed, [
        {
          when: { launches: [1, 1] },
          end: { refuse: 'API Error: Unable to connect to API (ConnectionRefused)', status: 0, error: 'unknown' },
        },
      ]),
  },
  {
    ...{ name: 'agent killed, then missing packages', seed: 809, faults: ['agent_died', 'dependency_missing'] },
    ...{ recoverable: true, reason: 'A dead agent is restarted; packages are installed from the lockfile.' },
    ...{ expected: 'lands', forbidden: nothing },
    scene: (seed) =>
      single(seed, [{ when: { launches: [1, 1] }, acts: ['right'], end: { signal: 'SIGKILL' } }], {
        prepare: ({ project }) => addDependency(project),
        spoil: ({ project }) => rmSync(join(project, 'node_modules'), { recursive: true }),
      }),
  },
  {
    ...{
      name: 'folder with a Cyrillic letter, then a lost session',
      seed: 810,
      faults: ['path_outside', 'session_lost'],
    },
    ...{
      recoverable: true,
      reason: 'A look-alike is another path; a lost session is replayed fresh.',
      expected: 'lands',
    },
    ...{ forbidden: { paths: [cyrillic] } },
    scene: (seed) =>
      single(seed, [
        { when: { launches: [2, 2] }, end: { exit: 1, text: 'No conversation found with session ID: lost' } },
        ...untilTold('extra\\.mjs', [{ change: { path: cyrillic, after: 'export {}\n' } }], [{ remove: 'ѕrc' }]),
      ]),
  },
]
