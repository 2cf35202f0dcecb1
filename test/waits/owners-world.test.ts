/** Checks mean in a clone what they mean in the owner's checkout, and work is found wherever a turn left it. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'
import { isLongForm, shortened } from '../support/form.ts'

let scene: Scene
afterEach(() => scene?.clear())

const claude = (program: string): FaultAgent => ({ driver: 'claude', program })
const git = (...args: string[]): string => execFileSync('git', args, { cwd: scene.root, encoding: 'utf8' }).trim()
const changedIn = (goal: string): string[] => git('diff', '--name-only', 'main', `unstuck/goal/${goal}`).split('\n')
const launchesOf = async (goal: string): Promise<number> =>
  (await scene.runs(goal)).reduce((sum, { launches }) => sum + launches.length, 0)

const working = claude(`begin(); put('made.txt', 'made'); end()`)

const answer = async (choice: string): Promise<void> => {
  const [question] = await scene.questions()
  expect(question?.choices.map(({ kind }) => kind)).toContain(choice)
  await scene.post(`/escalations/${question?.id}/answer`, { choice })
}

const configOf = (): { workspace?: { copy?: string[]; filters?: string[] } } =>
  JSON.parse(readFileSync(join(scene.root, '.unstuck/config.json'), 'utf8'))

describe('a check that needs what only the checkout has', () => {
  const files = {
    '.gitignore': 'fixtures/\n.env\n*.map\n',
    'built.js': "require('fs').readFileSync('tool.map')",
    'fixture.js': "require('./fixtures/local.json')",
    'secret.js': "require('fs').readFileSync('.env')",
  }

  test('gets an ignored file without another launch, and later agents have it from the start', async () => {
    const agent = claude(`begin(); put('made.txt', String(existsSync('fixtures/local.json'))); end()`)
    scene = await openScene({ agent }, {}, { files })
    mkdirSync(join(scene.root, 'fixtures'))
    writeFileSync(join(scene.root, 'fixtures/local.json'), '{}')
    git('tag', 'v1.0.0')
    const commands = ['node fixture.js', 'git describe --tags']
    const first = await scene.goal([{ commands }])
    await scene.until(first, 'ready', 'awaiting_human')
    expect((await scene.task(first)).place).toBe('done')
    expect(await launchesOf(first)).toBe(1)
    expect((await scene.recoveries(first)).map(({ action, status }) => [action.type, status])).toEqual([
      ['install', 'success'],
    ])
    expect(changedIn(first)).toEqual(['made.txt'])
    const second = await scene.goal([{ commands }])
    await scene.until(second, 'ready', 'awaiting_human')
    expect([await scene.recoveries(second), git('show', `unstuck/goal/${second}:made.txt`)]).toEqual([[], 'true'])
  })

  test.each(
    shortened(
      [
        ['a secret', '.env', 'secret.js'],
        ['the output of a build', 'tool.map', 'built.js'],
      ],
      1,
    ),
  )('asks at once before it copies %s; the answer is the remedy', async (_what, path, check) => {
    const requeue = { inPlaceLimit: 5, blockedSeconds: 3_600 }
    scene = await openScene({ agent: working }, { requeue }, { files })
    writeFileSync(join(scene.root, path), 'PASSWORD=of-the-owner')
    const goal = await scene.goal([{ commands: [`node ${check}`] }])
    await scene.until(goal, 'awaiting_human')
    expect(await launchesOf(goal)).toBe(1)
    await answer('copy_files')
    expect(configOf().workspace?.copy).toEqual([path])
    await scene.until(goal, 'ready')
    expect(changedIn(goal)).toEqual(['made.txt'])
    expect(JSON.stringify(await scene.get('/events?limit=1000'))).not.toContain('of-the-owner')
  })
})

test.runIf(isLongForm)(
  'a file of a filter that may not run is one question, and its answer lets the filter run',
  async () => {
    const files = { '.gitattributes': 'made.txt filter=rot\n' }
    scene = await openScene({ agent: working }, {}, { files })
    for (const part of ['clean', 'smudge']) git('config', `filter.rot.${part}`, 'tr a-z n-za-m')
    await scene.restart()
    const goal = await scene.goal([{ commands: ['grep made made.txt'] }])
    await scene.until(goal, 'awaiting_human')
    expect(await launchesOf(goal)).toBe(1)
    await answer('run_filters')
    expect(configOf().workspace?.filters).toEqual(['rot'])
    await scene.until(goal, 'ready')
    expect(git('cat-file', 'blob', `unstuck/goal/${goal}:made.txt`)).toBe('znqr')
  },
)

const shell = `import { execFileSync } from 'node:child_process'
const git = (...args) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@a', ...args])
begin()`

describe('a check finds a module', () => {
  let libs = ''
  beforeEach(() => {
    libs = mkdtempSync(join(tmpdir(), 'unstuck-libs-'))
    mkdirSync(join(libs, 'dep'))
    writeFileSync(join(libs, 'dep/package.json'), '{"name":"dep","version":"1.0.0"}')
    writeFileSync(join(libs, 'dep/index.js'), '')
  })
  afterEach(() => rmSync(libs, { recursive: true }))

  const greenWith = async (lay: () => void, environment: Record<string, string>, files: Record<string, string>) => {
    const all = { 'use.js': "require('dep')", '.gitignore': 'node_modules/\n', ...files }
    scene = await openScene(
      { agent: working },
      {},
      { files: all, environment: { PATH: process.env.PATH ?? '', ...environment } },
    )
    lay()
    const goal = await scene.goal([{ commands: ['node use.js'] }])
    await scene.until(goal, 'ready', 'awaiting_human')
    expect([(await scene.task(goal)).place, await scene.recoveries(goal)]).toEqual(['done', []])
  }

  test.runIf(isLongForm)('that the shell of the owner names', () => greenWith(() => undefined, { NODE_PATH: libs }, {}))

  test('that is linked into the packages from outside, and the link is not followed', async () => {
    const lay = (): void => {
      mkdirSync(join(scene.root, 'node_modules'))
      symlinkSync(join(libs, 'dep'), join(scene.root, 'node_modules/dep'))
    }
    await greenWith(lay, {}, { 'package.json': '{}', 'package-lock.json': '{}' })
  })

  test.runIf(isLongForm)('of a workspace of its own without a lockfile', async () => {
    const lay = (): void => {
      mkdirSync(join(scene.root, 'node_modules'))
      symlinkSync('../packages/dep', join(scene.root, 'node_modules/dep'))
      const packages = { 'node_modules/dep': { resolved: 'packages/dep', link: true } }
      writeFileSync(join(scene.root, 'node_modules/.package-lock.json'), JSON.stringify({ packages }))
    }
    await greenWith(lay, {}, { 'package.json': '{"workspaces":["packages/*"]}', 'packages/dep/index.js': '' })
  })
})

describe('a turn', () => {
  test.runIf(isLongForm)(
    'that leaves litter of tools lands without it, and a task that names some keeps it',
    async () => {
      const agent = claude(`begin()
      for (const path of ['.aider.chat.history.md', '.serena/memories/a.md', 'nohup.out', 'lib/made.js.orig']) put(path, 'x')
      put('made.txt', 'made'); end()`)
      scene = await openScene({ agent })
      const goal = await scene.goal([{}, { instructions: 'Keep nohup.out for me.' }])
      await scene.until(goal, 'ready', 'awaiting_human')
      expect(changedIn(goal)).toEqual(['made.txt', 'nohup.out'])
    },
  )

  test.each<[where: string, work: string]>(
    shortened(
      [
        [
          'branch mine',
          `git('checkout', '-q', '-b', 'mine'); put('made.txt', 'made'); git('add', '-A'); git('commit', '-qm', 'x'); git('checkout', '-q', '-')`,
        ],
        ['stash', `put('made.txt', 'made'); git('add', '-A'); git('stash', '-q')`],
        ['stash', `put('made.txt', 'made'); git('stash', '-q', '-u')`],
        [
          'a commit without a branch',
          `git('checkout', '-q', '--detach'); put('made.txt', 'made'); git('add', '-A'); git('commit', '-qm', 'x'); git('checkout', '-q', '-')`,
        ],
        [
          'worktree .claude/worktrees/w',
          `git('worktree', 'add', '-q', '.claude/worktrees/w', '-b', 'w'); put('.claude/worktrees/w/made.txt', 'made')`,
        ],
      ],
      2,
    ),
  )('that leaves its work on %s is done with one launch', async (where, work) => {
    scene = await openScene({ agent: claude(`${shell}; ${work}; end()`) })
    const goal = await scene.goal([{}])
    await scene.until(goal, 'ready', 'awaiting_human')
    expect([changedIn(goal), await launchesOf(goal)]).toEqual([['made.txt'], 1])
    expect((await scene.events(goal, 'run.work_brought_in')).map(({ payload }) => payload['from'])).toEqual([where])
  })

  test('that writes into the checkout of the owner is told so, and writes into its workspace then', async () => {
    const agent = claude(
      `begin(); if (count('TOP/rounds') > 1) put('made.txt', args.join(' ')); else put('TOP/repo/made.txt', 'lost'); end()`,
    )
    scene = await openScene({ agent }, {}, {})
    const goal = await scene.goal([{ commands: [] }])
    await scene.until(goal, 'ready', 'awaiting_human')
    expect(scene.show('made.txt', goal)).toContain(`made.txt changed meanwhile in ${scene.root}`)
    expect(readFileSync(join(scene.root, 'made.txt'), 'utf8')).toBe('lost')
  })

  test.runIf(isLongForm)('that writes only what git ignores is told so, and the question names it', async () => {
    const agent = claude(`begin(); put('made.txt', 'made'); put('node_modules/x', 'x'); end()`)
    scene = await openScene({ agent }, {}, { files: { '.gitignore': 'made.txt\nnode_modules/\n' } })
    const goal = await scene.goal([{ commands: [] }])
    await scene.until(goal, 'awaiting_human')
    const [question] = await scene.questions()
    expect(question?.happened).toContain('it wrote made.txt, which git ignores')
  })

  test.runIf(isLongForm)(
    'that only makes an empty folder is told that git keeps none, and can put a file into it',
    async () => {
      const agent = claude(
        `begin(); mkdirSync('assets/icons', { recursive: true }); if (JSON.stringify(args).includes('no empty folder')) put('assets/icons/.gitkeep', ''); end({ result: 'I created it.' })`,
      )
      scene = await openScene({ agent }, {}, { files: { 'pass.js': '' } })
      const goal = await scene.goal([{ commands: ['node pass.js'] }])
      await scene.until(goal, 'ready', 'awaiting_human')
      expect([changedIn(goal), await launchesOf(goal)]).toEqual([['assets/icons/.gitkeep'], 2])
    },
  )

  test.runIf(isLongForm)('that has an untracked and a changed file in one stash lands both', async () => {
    const work = `put('notes.txt', 'changed'); put('made.txt', 'made'); git('stash', '-q', '-u')`
    scene = await openScene({ agent: claude(`${shell}; ${work}; end()`) }, {}, { files: { 'notes.txt': 'as it was' } })
    const goal = await scene.goal([{}])
    await scene.until(goal, 'ready', 'awaiting_human')
    expect(changedIn(goal)).toEqual(['made.txt', 'notes.txt'])
  })

  test.runIf(isLongForm)('that leaves different work in two stashes is asked again, with their names', async () => {
    const both = `for (const text of ['one', 'two']) { put('made.txt', text); git('stash', '-q', '-u') }`
    const agent = claude(`${shell}
      if (count('TOP/launches') === 1) { ${both} } else put('made.txt', 'made')
      end()`)
    scene = await openScene({ agent })
    const goal = await scene.goal([{}])
    await scene.until(goal, 'ready', 'awaiting_human')
    const problem = JSON.stringify(await scene.recoveries(goal))
    expect([problem.includes('stash@{1}'), await launchesOf(goal)]).toEqual([true, 2])
  })

  test.runIf(isLongForm)('that leaves different work in two places is asked again, with their names', async () => {
    const both = `for (const name of ['one', 'two']) { git('checkout', '-q', '-b', name, 'HEAD'); put('made.txt', name); git('add', '-A'); git('commit', '-qm', name); git('checkout', '-q', '-') }`
    const agent = claude(`${shell}
      if (count('TOP/launches') === 1) { ${both} } else { put('TOP/prompt', args.join(' ')); put('made.txt', 'made') }
      end()`)
    scene = await openScene({ agent })
    const goal = await scene.goal([{}])
    await scene.until(goal, 'ready', 'awaiting_human')
    expect([changedIn(goal), await launchesOf(goal)]).toEqual([['made.txt'], 2])
    const problem = JSON.stringify(await scene.recoveries(goal))
    expect([problem.includes('branch one'), problem.includes('branch two')]).toEqual([true, true])
  })
})

test('a check that misses what the task asks for is told to the agent, whose first start wrote something else', async () => {
  const late = claude(`begin(); put(count('TOP/rounds') > 1 ? 'tool.sh' : 'other.txt', 'echo hi'); end()`)
  scene = await openScene({ late }, {}, { files: { Makefile: 'test:\n\tsh tool.sh | grep -q hi\n' } })
  const goal = await scene.goal([{ commands: [], instructions: 'Write tool.sh, which prints hi.' }])
  await scene.until(goal, 'ready', 'awaiting_human')
  expect(await launchesOf(goal)).toBe(2)
  expect((await scene.recoveries(goal)).map(({ playbook, status }) => [playbook, status])).toEqual([
    ['check-feedback', 'success'],
  ])
  expect(scene.show('tool.sh', goal)).toBe('echo hi')
})

describe('a check that no agent can make run', () => {
  /** Elixir is installed on few machines. */
  const PATH = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !existsSync(join(folder, 'mix')))
    .join(delimiter)

  const unable: [how: string, files: Record<string, string>, commands: string[], launches: number][] = [
    [
      'is asked about before the first launch where none of the inferred ones has its program',
      { 'mix.exs': '' },
      [],
      0,
    ],
    [
      'is asked about at once where it was inferred and could not run before',
      { Makefile: 'test:\n\tno-such-program\n' },
      [],
      1,
    ],
    ['is asked about at once where its program is missing', {}, ['no-such-program'], 1],
    [
      'is asked about at once where it crashes exactly as on the base commit, apart from the work',
      {
        'package.json': '{"scripts":{"test":"node load.js"}}',
        'load.js': "require('fs').readFileSync('fixtures/key.pem')",
      },
      [],
      1,
    ],
  ]
  test.each(shortened(unable, 2))('%s', async (_how, files, commands, launches) => {
    scene = await openScene({ agent: working }, {}, { files, environment: { PATH } })
    const goal = await scene.goal([{ commands }])
    await scene.until(goal, 'awaiting_human')
    expect([await launchesOf(goal), (await scene.runs(goal)).length]).toEqual([launches, 1])
    const [question] = await scene.questions()
    expect(question?.choices.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['change_check', 'cancel']))
    await scene.post(`/escalations/${question?.id}/answer`, { choice: 'change_check', input: 'node -e 0' })
    await scene.until(goal, 'ready')
  })
})
