/** Repairs of checks through the whole engine on a real repository: what they mend, and that a real failure stays one. */
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { playbooks } from '../../src/recovery/ladder.ts'
import type { Action, Playbook } from '../../src/recovery/playbook.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

/** A package with one dependency, which comes from the repository itself: its install needs no network. */
const packageOf = (folder: string, more: object = {}): Record<string, string> => {
  const manifest = { name: 'app', version: '1.0.0', ...more, dependencies: { tiny: 'file:dep' } }
  const lock = {
    ...{ name: 'app', version: '1.0.0', lockfileVersion: 3, requires: true },
    packages: {
      '': { name: 'app', version: '1.0.0', dependencies: { tiny: 'file:dep' } },
      dep: { name: 'tiny', version: '1.0.0' },
      'node_modules/tiny': { resolved: 'dep', link: true },
    },
  }
  return {
    [`${folder}package.json`]: JSON.stringify(manifest),
    [`${folder}package-lock.json`]: JSON.stringify(lock),
    [`${folder}dep/package.json`]: '{"name":"tiny","version":"1.0.0"}',
    [`${folder}dep/index.js`]: 'module.exports = 1',
  }
}

const files = {
  ...packageOf('app/'),
  // A suite of the owner's: what a task names itself must pass, whatever it does on the base commit.
  '.unstuck/verify.contract.json': JSON.stringify({
    rules: [{ whenChangedAny: ['known.txt'], commands: ['node --test app/known.js'] }],
  }),
  'app/use.js': `const tiny = require('tiny'); process.exit(tiny === 1 ? 0 : 1)`,
  'app/more.js': `const { test } = require('node:test'); const assert = require('node:assert'); const tiny = require('tiny')
test('counts', () => assert.equal(require('./number.js'), tiny))`,
  'app/number.js': 'module.exports = 1',
  'app/known.js': `const { test } = require('node:test'); const assert = require('node:assert'); const tiny = require('tiny')
test('was broken before', () => assert.equal(2, tiny)); test('works', () => assert.equal(1, tiny))`,
  'package.json': '{"workspaces":["parts/*"],"scripts":{"test":"node --test solid.test.js","build":"node build.js"}}',
  // A package of the repository whose entry its own build makes.
  'parts/part/package.json':
    '{"name":"part","version":"1.0.0","main":"dist/index.js","scripts":{"build":"mkdir dist && cp source.js dist/index.js"}}',
  'parts/part/source.js': 'module.exports = 1',
  'parts/use.js': `process.exit(require('./part') === 1 ? 0 : 1)`,
  'solid.test.js': `const { test } = require('node:test'); const assert = require('node:assert')
test('adds', () => assert.equal(require('./sum.js'), 2, "Cannot find module './dist/index.js'"))`,
  'sum.js': 'module.exports = 2',
  'build.js': `const fs = require('node:fs'); fs.mkdirSync('dist', { recursive: true }); fs.writeFileSync('dist/index.js', 'module.exports = 1')`,
  'built.js': `process.exit(require('./dist/index.js') === 1 ? 0 : 1)`,
  // Git ignores what these make.
  '.gitignore': 'dist/\n/build/\n',
  Makefile:
    'verify:\n\tnode sum.js\n\ncodegen:\n\tmkdir -p build/generated\n\techo "module.exports = 1" > build/generated/api.js\n',
  // Three packages: one has no test, one depends on another.
  'many/package.json': '{"name":"many","workspaces":["packages/*"]}',
  'many/generated.js': `require('../build/generated/api.js')`,
  ...Object.fromEntries(
    Object.entries({ a: {}, b: { a: '*' }, c: undefined }).flatMap(([name, dependencies]) => [
      [
        `many/packages/${name}/package.json`,
        JSON.stringify({
          ...{ name, version: '1.0.0' },
          ...(dependencies === undefined ? {} : { dependencies, scripts: { test: 'node --test' } }),
        }),
      ],
      [
        `many/packages/${name}/one.test.js`,
        `require('node:test').test('${name}', () => require('node:assert').equal(require('../a/one.js'), 1))`,
      ],
    ]),
  ),
  'many/packages/a/one.js': 'module.exports = 1',
  // Its build needs the packages that a plain clone lacks.
  ...packageOf('made/', { scripts: { build: 'node build.js' } }),
  'made/build.js': `const fs = require('node:fs'); fs.mkdirSync('dist', { recursive: true }); fs.writeFileSync('dist/index.js', 'module.exports = ' + require('tiny'))`,
  'made/use.js': `process.exit(require('./dist/index.js') === 1 ? 0 : 1)`,
  // Its lockfile knows nothing of what its manifest asks for.
  'stale/package.json': '{"name":"stale","version":"1.0.0","dependencies":{"tiny":"file:../app/dep"}}',
  'stale/package-lock.json':
    '{"name":"stale","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"stale","version":"1.0.0"}}}',
  'stale/use.js': `require('tiny')`,
}

interface Case {
  name: string
  program?: string
  commands: string[]
  /** What it answers when it is asked for a command. */
  answer?: string
  /** It leaves no file at the top. */
  below?: true
  /** More than one task of the goal, each with a file of its own. */
  tasks?: number
}

const put = (path: string, text: string): string => `put(${JSON.stringify(path)}, ${JSON.stringify(text)})`

const everywhere = 'cd many && npm test --workspaces'

const cases: Case[] = [
  { name: 'installs', commands: ['cd app && node use.js', 'node check.js'] },
  {
    name: 'installs-and-fails',
    program: put('app/number.js', 'module.exports = 2'),
    commands: ['node --test app/more.js'],
  },
  { name: 'installs-known', program: put('known.txt', ''), commands: [] },
  {
    // Its first turn leaves a manifest that its lockfile does not fit.
    name: 'installs-mended',
    program: `put('app/package.json', count('TOP/mended') === 1
      ? ${JSON.stringify(JSON.stringify({ name: 'app', version: '1.0.0', dependencies: { tiny: 'file:dep', more: 'file:../stale' } }))}
      : ${JSON.stringify(packageOf('app/')['app/package.json'])})`,
    commands: ['cd app && node use.js', 'node check.js'],
  },
  { name: 'installs-nothing', commands: ['node stale/use.js', 'node check.js'] },
  {
    name: 'installs-twice',
    // Both begin before either of them ends, so that one is verified on top of the other.
    program: `const mine = count('TOP/made'); put('made-' + mine + '.txt', 'made')
      for (const end = Date.now() + 60_000; mine === 1 && readFileSync('TOP/made', 'utf8') === '1' && Date.now() < end;)
        await new Promise((next) => setTimeout(next, 20))`,
    commands: ['node app/use.js'],
    tasks: 2,
  },
  { name: 'reorders', commands: ['node built.js', 'node check.js', 'npm run build'] },
  {
    name: 'reorders-and-fails',
    program: put('sum.js', 'module.exports = 3'),
    commands: ['node --test solid.test.js', 'npm run build'],
  },
  { name: 'builds', commands: ['node built.js'] },
  { name: 'builds-below', commands: ['cd many && node generated.js'] },
  { name: 'builds-with-packages', commands: ['cd made && node use.js'] },
  { name: 'builds-member', commands: ['node parts/use.js'] },
  {
    // The build works; what the check then says of the work counts.
    name: 'builds-and-fails',
    program: put('built.js', `require('./dist/index.js'); process.exit(1)`),
    commands: ['node built.js'],
  },
  {
    // A build of its own makes nothing that counts.
    name: 'builds-by-its-own',
    program: put('package.json', '{"scripts":{"test":"node --test solid.test.js","build":"node build.js && true"}}'),
    commands: ['node built.js'],
  },
  { name: 'replaces', commands: ['npm run unit'] },
  {
    name: 'replaces-and-fails',
    program: put('sum.js', 'module.exports = 3'),
    commands: ['npm run unit', 'node check.js'],
  },
  {
    name: 'replaces-by-its-own',
    program: put('package.json', '{"scripts":{"test":"node build.js"}}'),
    commands: ['npm run unit'],
  },
  { name: 'narrows', program: put('many/packages/b/made.js', ''), below: true, commands: [everywhere] },
  {
    name: 'narrows-and-fails',
    program: put('many/packages/a/one.js', 'module.exports = 2'),
    below: true,
    commands: [everywhere, 'npm test'],
  },
  { name: 'asks', answer: 'node --test solid.test.js', commands: ['node --test solid.test.js | cat'] },
  {
    name: 'asks-and-fails',
    program: put('sum.js', 'module.exports = 3'),
    answer: 'node --test solid.test.js',
    commands: ['node --test solid.test.js | cat'],
  },
  {
    name: 'asks-its-own',
    program: put('mine.js', ''),
    answer: 'node mine.js',
    commands: ['node --test solid.test.js | cat'],
  },
  { name: 'asks-nothing', answer: 'true', commands: ['node --test solid.test.js | cat'] },
  {
    name: 'asks-not',
    program: put('sum.js', 'module.exports = 3'),
    answer: 'node check.js',
    commands: ['node --test solid.test.js'],
  },
  { name: 'drops-target', commands: ['make nosuch', 'node check.js'] },
  { name: 'takes-target', program: put('Makefile', 'other:\n\ttrue\n'), commands: ['make verify', 'node check.js'] },
]

/** With a set-up command of the owner nothing is installed before the agent, so that the repairs of its checks have something to do. */
const withoutInstalls = { setup: 'true' }

let scene: Scene
const goals = new Map<string, string>()
const goalOf = (name: string): string => goals.get(name) as string

const agentsOf = (used: readonly Case[]): Record<string, FaultAgent> =>
  Object.fromEntries(
    used.map(({ name, program = '', below, answer = '' }): [string, FaultAgent] => [
      name,
      {
        driver: 'claude',
        program: `begin()
if (args.some((text) => text.includes('verification command below cannot be run'))) end({ result: ${JSON.stringify(answer)} })
else { ${below === true ? '' : "put('made.txt', 'made')"}; ${program}; end() }`,
      },
    ]),
  )

beforeAll(async () => {
  scene = await openScene(agentsOf(cases), { maxParallel: 2, workspace: withoutInstalls }, { files })
  for (const { name, commands, tasks = 1 } of cases)
    goals.set(name, await scene.goal(Array.from({ length: tasks }, () => ({ harness: name, commands }))))
}, 600_000)
afterAll(async () => scene.clear())

const verdictOf = async (name: string) => (await scene.runs(goalOf(name))).at(-1)?.verdict
const placeOf = async (name: string): Promise<string> => {
  await scene.until(goalOf(name), 'ready', 'awaiting_human')
  return (await scene.task(goalOf(name))).place
}
/** What the verification tried by itself. What its agents are told of a failure has its own tests (test/waits/feedback.test.ts). */
const repairs = async (name: string) =>
  (await scene.recoveries(goalOf(name)))
    .filter(({ playbook }) => !playbook.endsWith('-feedback'))
    .map(({ playbook, status, detail }) => [playbook, status, detail])

describe('a package that is not installed', { timeout: 400_000 }, () => {
  test('is installed from the lockfile in the clone, and the check that missed it runs and passes', async () => {
    expect(await placeOf('installs')).toBe('done')
    expect(await repairs('installs')).toEqual([
      ['dependency-install', 'success', 'cd app && node use.js ran and passed'],
    ])
    expect(await verdictOf('installs')).toMatchObject({
      outcome: 'verified',
      checks: [{ exitCode: 0 }, { exitCode: 0 }],
      dropped: [],
      installed: [{ manager: 'npm', folder: 'app', commands: [['npm', 'ci', '--no-audit', '--no-fund']] }],
    })
  })
  test('and a test that fails once it is there stays a failure', async () => {
    expect(await placeOf('installs-and-fails')).toBe('blocked(awaiting_human)')
    expect(await repairs('installs-and-fails')).toEqual([
      ['dependency-install', 'success', expect.stringContaining('it runs now and fails on its own')],
    ])
    expect(await verdictOf('installs-and-fails')).toMatchObject({ outcome: 'not verified', checks: [{ exitCode: 1 }] })
  })
  test('is installed for the base commit too, so that what failed before is known', async () => {
    expect(await placeOf('installs-known')).toBe('done')
    expect(await verdictOf('installs-known')).toMatchObject({
      checks: [{ excused: { because: 'fails on the base commit', failing: ['was broken before'] } }],
    })
  })
  test('is installed again where work is verified on top of other work', async () => {
    expect(await placeOf('installs-twice')).toBe('done')
    const events = await scene.events(goalOf('installs-twice'), 'merge.reverified')
    expect(events.map(({ payload }) => payload['passed'])).toEqual([true])
  })
  test('and whose lockfile the work made unfit goes back to the agent, which mends it', async () => {
    expect(await placeOf('installs-mended')).toBe('done')
    const tried = await scene.recoveries(goalOf('installs-mended'))
    expect(tried.map(({ playbook }) => playbook)).toEqual([
      'dependency-install',
      'check-feedback',
      'dependency-install',
    ])
    expect(tried.at(-1)).toMatchObject({ status: 'success' })
    const [run] = await scene.runs(goalOf('installs-mended'))
    expect(run?.launches).toHaveLength(2)
  })
  test('and whose lockfile does not fit is no success: the check decides', async () => {
    expect(await placeOf('installs-nothing')).toBe('blocked(awaiting_human)')
    expect(await repairs('installs-nothing')).toEqual([
      ['dependency-install', 'failed', expect.stringMatching(/^npm ci --no-audit --no-fund: ended with 1/)],
    ])
    expect((await verdictOf('installs-nothing'))?.dropped).toEqual([])
  })
})

const isAsked = async (name: string): Promise<void> => {
  expect(await placeOf(name)).toBe('blocked(awaiting_human)')
  expect((await verdictOf(name))?.outcome).toBe('not verified')
}
const messageOf = (name: string): string =>
  execFileSync('git', ['log', '-1', '--format=%B', `unstuck/goal/${goalOf(name)}`], {
    cwd: scene.root,
    encoding: 'utf8',
  })

describe('a check that needs what a later one makes', { timeout: 400_000 }, () => {
  test('runs behind it, and nothing is left out', async () => {
    expect(await placeOf('reorders')).toBe('done')
    expect(await repairs('reorders')).toEqual([['sequence-reorder', 'success', 'node built.js ran and passed']])
    const verdict = await verdictOf('reorders')
    expect(verdict?.checks.map(({ command }) => command)).toEqual(['node check.js', 'npm run build', 'node built.js'])
    expect(verdict).toMatchObject({
      outcome: 'verified',
      dropped: [],
      order: ['node check.js', 'npm run build', 'node built.js'],
    })
  })
  test('stays where it is when it is a test that fails, whatever it says', async () => {
    await isAsked('reorders-and-fails')
    expect(await repairs('reorders-and-fails')).toEqual([])
  })
})

describe('a check that needs what a build of the repository makes and git ignores', { timeout: 400_000 }, () => {
  test('runs after it from then on', async () => {
    expect(await placeOf('builds')).toBe('done')
    expect(await repairs('builds')).toEqual([['sequence-reorder', 'success', 'node built.js ran and passed']])
    const verdict = await verdictOf('builds')
    expect(verdict?.checks.map(({ command }) => command)).toEqual(['npm run build', 'node built.js'])
    expect(verdict).toMatchObject({ outcome: 'verified', dropped: [] })
    expect((await scene.runs(goalOf('builds'))).at(-1)?.launches).toHaveLength(1)
  })
  test('is found among scripts and make targets by what they make', async () => {
    expect(await placeOf('builds-below')).toBe('done')
    const verdict = await verdictOf('builds-below')
    expect(verdict?.checks.map(({ command }) => command)).toEqual(['make codegen', 'cd many && node generated.js'])
  })
  test('is also that of the package of the repository that lacks its output', async () => {
    expect(await placeOf('builds-member')).toBe('done')
    const verdict = await verdictOf('builds-member')
    const build = 'cd parts/part && npm run build'
    expect(verdict?.checks.map(({ command }) => command)).toEqual([build, 'node parts/use.js'])
  })
  test('and is installed for, where the build itself lacks packages', async () => {
    expect(await placeOf('builds-with-packages')).toBe('done')
    const verdict = await verdictOf('builds-with-packages')
    expect(verdict?.checks.map(({ command }) => command)).toEqual([
      'cd made && npm run build',
      'cd made && node use.js',
    ])
    expect(verdict?.installed).toMatchObject([{ manager: 'npm', folder: 'made' }])
    expect(await repairs('builds-with-packages')).toHaveLength(1)
  })
  test('and still fails if the work is wrong', async () => {
    await isAsked('builds-and-fails')
    expect(await repairs('builds-and-fails')).toEqual([
      ['sequence-reorder', 'success', expect.stringContaining('it runs now and fails on its own')],
    ])
  })
  test('is not built by what the work changed', async () => {
    await isAsked('builds-by-its-own')
    expect(await repairs('builds-by-its-own')).toEqual([])
  })
})

describe('a package script that does not exist', { timeout: 400_000 }, () => {
  test('is replaced by one of the same intent, and the verdict and the commit say so', async () => {
    expect(await placeOf('replaces')).toBe('done')
    expect(await repairs('replaces')).toEqual([['script-replacement', 'success', 'npm run test ran and passed']])
    expect(await verdictOf('replaces')).toMatchObject({
      outcome: 'verified',
      checks: [{ command: 'npm run test', exitCode: 0 }],
      dropped: [{ command: 'npm run unit', by: 'npm run test' }],
    })
    expect(messageOf('replaces')).toContain('- npm run unit: npm run test ran instead; ')
  })
  test('and a test of the replacement that fails stays a failure, beside another check that passes', async () => {
    await isAsked('replaces-and-fails')
    expect(await verdictOf('replaces-and-fails')).toMatchObject({ checks: [{ command: 'npm run test', exitCode: 1 }] })
  })
  test('is not replaced by one that the work wrote', async () => {
    await isAsked('replaces-by-its-own')
    expect((await verdictOf('replaces-by-its-own'))?.dropped).toEqual([])
  })
})

describe('a check of all packages that one of them cannot run', { timeout: 400_000 }, () => {
  test('runs for those that the change can affect', async () => {
    expect(await placeOf('narrows')).toBe('done')
    const by = 'cd many && npm --workspace=b test'
    expect(await repairs('narrows')).toEqual([['package-narrowing', 'success', `${by} ran and passed`]])
    expect(await verdictOf('narrows')).toMatchObject({
      checks: [{ command: by, exitCode: 0 }],
      dropped: [{ command: everywhere, by }],
    })
  })
  test('is not narrowed when a test of it fails', async () => {
    await isAsked('narrows-and-fails')
    expect(await repairs('narrows-and-fails')).toEqual([])
  })
})

describe('a make target that does not exist', { timeout: 400_000 }, () => {
  test('is dropped and listed, when the base commit has none either', async () => {
    expect(await placeOf('drops-target')).toBe('done')
    expect(await repairs('drops-target')).toEqual([
      ['make-target-drop', 'success', '1 remaining check(s) ran and passed'],
    ])
    expect(await verdictOf('drops-target')).toMatchObject({ dropped: [{ command: 'make nosuch' }] })
  })
  test('is a failure of the work that took it away', async () => {
    await isAsked('takes-target')
    expect(await repairs('takes-target')).toEqual([])
  })
})

describe('a check that only a shell could run, with nothing beside it', { timeout: 400_000 }, () => {
  const asked = 'node --test solid.test.js | cat'
  test('runs as the agent words it, and the verdict says so', async () => {
    expect(await placeOf('asks')).toBe('done')
    const by = 'node --test solid.test.js'
    expect(await repairs('asks')).toEqual([['command-fix', 'success', `${by} ran and passed`]])
    expect(await verdictOf('asks')).toMatchObject({
      checks: [{ command: by, exitCode: 0 }],
      dropped: [{ command: asked, by }],
    })
    // One short question in a session of its own, and no second brief.
    expect((await scene.runs(goalOf('asks'))).at(-1)?.launches).toMatchObject([{}, { ask: asked, resumeSession: null }])
  })
  test('and a test of it that fails stays a failure', async () => {
    await isAsked('asks-and-fails')
    expect(await verdictOf('asks-and-fails')).toMatchObject({ checks: [{ exitCode: 1 }] })
  })
  test.each([
    ['asks-its-own', 'the suggested command was refused: the base commit has no file mine.js (node mine.js)'],
    ['asks-nothing', expect.stringMatching(/^the suggested command was refused: true is neither a script/)],
  ])('%s: what the base commit does not have is refused', async (name, detail) => {
    await isAsked(name)
    expect(await repairs(name)).toEqual([['command-fix', 'failed', detail]])
    expect((await verdictOf(name))?.dropped).toEqual([])
  })
  test('is never asked about a test that failed', async () => {
    await isAsked('asks-not')
    expect(await repairs('asks-not')).toEqual([])
  })
})

/** The same actions without what they are for, for the repairs of this file. */
const without: Record<string, (action: Action) => Action> = {
  'dependency-install': (action) =>
    action.type === 'install' ? { ...action, install: { ...action.install, commands: [] } } : action,
  'sequence-reorder': (action) => (action.type === 'reorder' ? { ...action, order: [] } : action),
  'script-replacement': (action) => (action.type === 'replace_command' ? { ...action, by: action.command } : action),
  'package-narrowing': (action) => (action.type === 'replace_command' ? { ...action, by: action.command } : action),
  'make-target-drop': () => ({ type: 'drop_command', name: 'DROP_COMMAND', command: 'no such command' }),
  'command-fix': ({ name }) => ({ type: 'relaunch', name, resume: false, hint: '' }),
}
const proofs: [playbook: string, example: string][] = [
  ['dependency-install', 'installs'],
  ['sequence-reorder', 'reorders'],
  ['script-replacement', 'replaces'],
  ['package-narrowing', 'narrows'],
  ['make-target-drop', 'drops-target'],
  ['command-fix', 'asks'],
]

describe('without its effect', { timeout: 400_000 }, () => {
  let idle: Scene
  const others = new Map<string, string>()
  beforeAll(async () => {
    const effectless = playbooks
      .filter(({ rung, id }) => rung !== 4 || without[id] !== undefined)
      .map((playbook): Playbook => {
        let meant: Action | undefined
        return {
          ...playbook,
          plan: (...given) => {
            meant = playbook.plan(...given)
            return meant === undefined ? undefined : (without[playbook.id]?.(meant) ?? meant)
          },
          postCondition: (action) => playbook.postCondition(meant ?? action),
        }
      })
    idle = await openScene(
      agentsOf(cases),
      { maxParallel: 2, workspace: withoutInstalls },
      { files, playbooks: effectless },
    )
    for (const { name, commands } of cases.filter((row) => proofs.some(([, example]) => example === row.name)))
      others.set(name, await idle.goal([{ harness: name, commands }]))
  }, 600_000)
  afterAll(async () => idle.clear())

  test.each(proofs)('%s is a failure, and the work is not accepted', async (playbook, example) => {
    const goal = others.get(example) as string
    await idle.until(goal, 'ready', 'awaiting_human')
    expect((await idle.task(goal)).place).toBe('blocked(awaiting_human)')
    const [first] = await idle.recoveries(goal)
    expect(first).toMatchObject({ playbook, status: 'failed', counted: true, attempt: 1 })
  })
})
