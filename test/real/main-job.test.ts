/** The main job on real input: a published package, the real Codex and the real Claude at work at the same time, its own tests. */
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { ScriptInput } from '../../sim/script.ts'
import { publishedPackage, type PublishedPackage } from './package.ts'
import { cacheFolder, openUser, until, type Printed, type User } from './user.ts'

let user: User | undefined
afterEach(async () => {
  await user?.close()
  user = undefined
})

const subject: PublishedPackage = {
  name: 'fast-json-stable-stringify',
  version: '2.1.0',
  runner: { tape: '4.17.0' },
  script: 'test-spec',
}

const checked = (name: string, call: string, expected: string): string =>
  `'use strict';\n\nvar test = require('tape');\nvar stringify = require('../');\n\ntest('${name}', function (t) {\n    t.plan(1);\n    ${call}\n    t.equal(out, ${JSON.stringify(expected)});\n});\n`

const bigintTest = checked('bigint', 'var out = stringify({ a: BigInt(7) });', '{"a":"7"}')
const cycleTest = checked(
  'cycle text',
  "var node = { a: 1 }; node.self = node;\n    var out = stringify(node, { cycles: true, cycleText: '[again]' });",
  '{"a":1,"self":"[again]"}',
)
const bothTest = checked(
  'bigint beside a named cycle',
  "var node = { n: BigInt(7) }; node.self = node;\n    var out = stringify(node, { cycles: true, cycleText: '[again]' });",
  '{"n":"7","self":"[again]"}',
)

const number = "if (typeof node == 'number') return"

/** Held commands end when this file is there. */
const goIn = (root: string): string => join(root, 'go')

const conversations = (root: string): ScriptInput['conversations'] => [
  {
    name: 'bigint',
    match: 'Write big integers as strings',
    usage: { inputTokens: 1100, outputTokens: 60 },
    steps: [
      { read: 'index.js' },
      {
        edit: {
          path: 'index.js',
          find: number,
          replace: `if (typeof node == 'bigint') return '"' + node + '"';\n        ${number}`,
        },
      },
      { write: { path: 'test/bigint.js', content: bigintTest } },
      { hold: { until: goIn(root) } },
      { shell: 'npm run test-spec' },
      { text: 'Big integers are written as strings.' },
    ],
  },
  {
    name: 'cycle',
    match: 'Let callers name what a cycle becomes',
    usage: { inputTokens: 1300, outputTokens: 70 },
    steps: [
      { read: 'index.js' },
      {
        edit: {
          path: 'index.js',
          find: "JSON.stringify('__cycle__')",
          replace: "JSON.stringify(opts.cycleText || '__cycle__')",
        },
      },
      { write: { path: 'test/cycle-text.js', content: cycleTest } },
      { hold: { until: goIn(root) } },
      { shell: 'npm run test-spec' },
      { text: 'The text of a cycle is an option now.' },
    ],
  },
  {
    name: 'docs',
    match: 'Describe both and test them together',
    steps: [
      { read: 'README.md' },
      {
        edit: {
          path: 'README.md',
          find: '# install',
          replace: '### further options\n\n`cycleText` names a cycle; big integers become strings.\n\n# install',
        },
      },
      { write: { path: 'test/both.js', content: bothTest } },
      { text: 'Described.' },
    ],
  },
]

const task = (id: string, title: string, harness: string, more: Printed = {}): Printed => ({
  ...{ id, title, harness, instructions: `${title}. Add a test.`, commands: ['npm run test-spec'] },
  ...more,
})

/** Both change the same file, in different places: an area of its own each lets them run side by side all the same. */
const shared = { allowedPaths: ['index.js', 'test/**'] }

const tasks = {
  version: 1,
  goal: 'Finish the open wishes for the stringifier',
  tasks: [
    task('bigint', 'Write big integers as strings', 'codex', { ...shared, targetArea: 'big integers' }),
    task('cycle', 'Let callers name what a cycle becomes', 'claude', { ...shared, targetArea: 'cycles' }),
    task('docs', 'Describe both and test them together', 'claude', {
      after: ['bigint', 'cycle'],
      allowedPaths: ['README.md', 'test/**'],
    }),
  ],
}

/** Every file of the checkout but the exports, with its content; git's own folder counts by what a user sees of it: settings and hooks. */
const contentOf = (folder: string): Map<string, string> => {
  const seen = (path: string): boolean =>
    !/^\.git\/|^\.unstuck\/(?:loops|context)\//.test(path) || /^\.git\/(?:config|HEAD|hooks\/.*|info\/.*)$/.test(path)
  return new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .filter(seen)
      .map((path) => [path, readFileSync(join(folder, path), 'latin1')]),
  )
}

const differences = (before: Map<string, string>, after: Map<string, string>): string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path)).sort()

const putUnderGit = ({ project, git }: User): void => {
  cpSync(publishedPackage(cacheFolder(), subject), project, { recursive: true, verbatimSymlinks: true })
  writeFileSync(join(project, '.gitignore'), 'node_modules\n')
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'Published source')
}

const passed = (project: string): number => {
  const output = execFileSync('npm', ['run', '--silent', subject.script], { cwd: project, encoding: 'utf8' })
  return Number(/^# pass\s+(\d+)$/m.exec(output)?.[1])
}

/** Both are in the middle of their work when each waits in its held command. */
const bothAtWork = (sim: User['sim']): boolean =>
  ['bigint', 'cycle'].every((name) => sim.requests().some((entry) => entry.conversation === name && entry.step === 3))

test('two real agents change a published package at the same time and both changes land on main', async () => {
  user = await openUser(conversations)
  const { project, git, sim } = user
  putUnderGit(user)
  const testsBefore = passed(project)
  writeFileSync(join(user.root, 'tasks.json'), JSON.stringify(tasks))
  const before = contentOf(project)
  const start = git('rev-parse', 'main')

  const running = user.unstuck('run', join(user.root, 'tasks.json'), '--merge', '--json')
  await until('both agents are at work', () => bothAtWork(sim))
  const [during = []] = await user.lines('runs')
  writeFileSync(goIn(user.root), '')
  const ended = await running
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  const { goal } = ended.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Printed)
    .at(-1) as Printed
  const [runs = []] = await user.lines('runs')
  const events = await user.events(goal.id)
  const [report = {}] = await user.lines('report')
  expect(await user.leave()).toEqual([])

  // Two processes at the same time, one of each CLI.
  expect(during.map((run: Printed) => [run.harness, run.state, run.phase]).sort()).toEqual([
    ['claude', 'running', 'supervise'],
    ['codex', 'running', 'supervise'],
  ])
  expect(goal).toMatchObject({ state: 'done', targetBranch: 'main' })
  expect(goal.tasks.map((entry: Printed) => entry.place)).toEqual(['done', 'done', 'done'])

  // One commit a task with its trailers, in a line, and main is where the goal branch is.
  const subjects = git('log', '--reverse', '--format=%s', `${start}..main`).split('\n')
  expect([...subjects.slice(0, 2)].sort().concat(subjects.slice(2))).toEqual([
    'Let callers name what a cycle becomes',
    'Write big integers as strings',
    'Describe both and test them together',
  ])
  const trailers = git(
    'log',
    '--reverse',
    '--format=%(trailers:key=Unstuck-Task,valueonly,separator=)',
    `${start}..main`,
  )
  expect(trailers.split('\n').sort()).toEqual(goal.tasks.map((entry: Printed) => entry.id).sort())
  expect(
    git('log', '--format=%(trailers:key=Unstuck-Run,valueonly,separator=)', `${start}..main`).split('\n').sort(),
  ).toEqual(runs.map((run: Printed) => run.id).sort())
  expect(git('rev-parse', 'main')).toBe(goal.headCommit)
  expect(git('symbolic-ref', 'HEAD')).toBe('refs/heads/main')

  // The one that came second was rebased and verified again, and the user's own tests are green with four more of them.
  expect(events.filter(({ type }) => type === 'merge.reverified').map(({ payload }) => payload.passed)).toEqual([true])
  expect(passed(project)).toBe(testsBefore + 3)

  // Nothing else of the checkout is different.
  expect(git('status', '--porcelain')).toBe('')
  expect(differences(before, contentOf(project))).toEqual([
    'README.md',
    'index.js',
    'test/bigint.js',
    'test/both.js',
    'test/cycle-text.js',
  ])

  // What was spent: Codex tells tokens, Claude tokens and money.
  const spendOf = (harness: string): Printed[] =>
    runs.filter((run: Printed) => run.harness === harness).map((run: Printed) => run.spend)
  expect(spendOf('codex')).toMatchObject([{ tokens: 6 * 1160, costUsd: 0 }])
  for (const spend of spendOf('claude')) expect([spend.tokens > 1000, spend.costUsd > 0]).toEqual([true, true])
  expect(report.spent.tokens).toBe(runs.reduce((sum: number, run: Printed) => sum + run.spend.tokens, 0))
  expect(report.landed.map((entry: Printed) => entry.title).sort()).toEqual([...subjects].sort())
  expect(goal.spend.tokens).toBe(report.spent.tokens)
})
