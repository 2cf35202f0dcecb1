/** What a run's workspace is given before its agent begins: submodules, the owner's files, the owner's set-up. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { commitAll, makeRepository, user } from '../workspace/scene.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

let scene: Scene
afterEach(() => scene?.clear())

const claude = (program: string): FaultAgent => ({ driver: 'claude', program })
const git = (...args: string[]): string => execFileSync('git', args, { cwd: scene.root, encoding: 'utf8' }).trim()
const filesOf = (goal: string): string[] => git('ls-tree', '-r', '--name-only', `unstuck/goal/${goal}`).split('\n')
const prepared = async (goal: string) =>
  (await scene.events(goal, 'run.workspace_prepared')).map(({ payload }) => payload)

/** Ends well only where it finds what was promised, and notes what it was told. */
const looking = (...files: string[]): FaultAgent =>
  claude(`begin()
    put('TOP/prompt', args.join(' '))
    if (${JSON.stringify(files)}.every((path) => existsSync(path))) put('made.txt', 'made')
    end()`)

describe('workspace.copy', () => {
  test('brings the named files to the agent and to every check, and to no commit and no snapshot', async () => {
    const copy = ['.env.test', 'config/local copy.json']
    const red =
      "const fs = require('fs'); fs.appendFileSync('TOP/seen', fs.existsSync('.env.test') + '\\n'); process.exit(1)"
    scene = await openScene({ agent: looking(...copy) }, { workspace: { copy } }, { files: { 'red.js': red } })
    mkdirSync(join(scene.root, 'config'))
    for (const name of copy) writeFileSync(join(scene.root, name), 'VALUE=of-the-owner')
    // Red on the base as well, so that it is run there too.
    const goal = await scene.goal([{ commands: ['test -f .env.test', 'node check.js'] }, { commands: ['node red.js'] }])
    await scene.until(goal, 'ready', 'awaiting_human')
    expect((await scene.task(goal)).place).toBe('done')
    expect(filesOf(goal)).toContain('made.txt')
    expect(filesOf(goal).filter((path) => copy.includes(path))).toEqual([])
    expect(await prepared(goal)).toContainEqual({ submodules: [], missing: [], copied: copy, setup: false })
    expect(readFileSync(join(scene.top, 'prompt'), 'utf8')).toContain('Files of the owner, not part of the result')
    const events = JSON.stringify(await scene.get('/events?limit=1000'))
    expect(events).not.toContain('of-the-owner')
    expect(new Set(readFileSync(join(scene.top, 'seen'), 'utf8').trim().split('\n'))).toEqual(new Set(['true']))
    expect(readFileSync(join(scene.top, 'seen'), 'utf8').split('\n').length).toBeGreaterThan(3)
  })

  test('of a file that is missing, tracked or a link is one question that names it, and no agent starts', async () => {
    scene = await openScene({ agent: looking() }, { workspace: { copy: ['.env.test'] } })
    const goal = await scene.goal([{}])
    await scene.until(goal, 'awaiting_human')
    const [question] = await scene.questions()
    expect(question?.question).toContain(`workspace.copy: ${join(scene.root, '.env.test')} does not exist`)
    expect(existsSync(join(scene.top, 'prompt'))).toBe(false)
    writeFileSync(join(scene.root, '.env.test'), 'x')
    await scene.post(`/tasks/${question?.taskId}/retry`)
    await scene.until(goal, 'ready')
  })
})

describe('workspace.setup', () => {
  test('runs before the agent; what it makes is there for agent and checks and is no part of the work', async () => {
    const files = {
      'gen.js':
        "require('fs').writeFileSync('generated.js', 'made by set-up'); require('fs').appendFileSync('kept.txt', 'x')",
      'kept.txt': '',
    }
    const agent = looking('generated.js')
    scene = await openScene({ agent }, { workspace: { setup: 'node gen.js' } }, { files })
    const goal = await scene.goal([{ allowedPaths: ['made.txt'], commands: ['test -f generated.js', 'node check.js'] }])
    await scene.until(goal, 'ready', 'awaiting_human')
    expect((await scene.task(goal)).place).toBe('done')
    expect(git('diff', '--name-only', 'main', `unstuck/goal/${goal}`)).toBe('made.txt')
    expect(await prepared(goal)).toEqual([{ submodules: [], missing: [], copied: [], setup: true }])
  })

  test('that fails is one question with the command and its cause, and no agent starts', async () => {
    const files = { 'gen.js': "console.error('Error: Cannot find module \\'codegen\\''); process.exit(3)" }
    scene = await openScene({ agent: looking() }, { workspace: { setup: 'node gen.js' } }, { files })
    const goal = await scene.goal([{}])
    await scene.until(goal, 'awaiting_human')
    const [question, ...others] = await scene.questions()
    expect(others).toEqual([])
    expect(question?.question).toMatch(/workspace\.setup "node gen\.js" failed: it ended with 3, .*Cannot find module/)
    expect(question?.details).toContain(`unstuck retry ${question?.taskId}`)
    expect(existsSync(join(scene.top, 'prompt'))).toBe(false)
    expect(await scene.runs(goal)).toMatchObject([{ errorMeta: { failureCode: 'setup_or_bootstrap_issue' } }])
  })

  test('that fails by a network is tried once more, in a fresh clone, and then asked about', async () => {
    const first = "const fs = require('fs'); const n = fs.existsSync('TOP/n') ? 2 : 1; fs.writeFileSync('TOP/n', '');"
    const files = {
      'gen.js': `${first} if (n === 1) { console.error('npm error code ECONNRESET\\nnpm error network read ECONNRESET'); process.exit(1) }`,
    }
    const retry = { transientBaseSeconds: 0.2, transientMaxSeconds: 0.2 }
    scene = await openScene({ agent: looking() }, { workspace: { setup: 'node gen.js' }, retry }, { files })
    const goal = await scene.goal([{}])
    await scene.until(goal, 'ready', 'awaiting_human')
    expect((await scene.task(goal)).place).toBe('done')
    expect(await scene.recoveries(goal)).toMatchObject([{ playbook: 'setup-retry', status: 'success', counted: false }])
    expect(await scene.runs(goal)).toHaveLength(2)
  })

  test('is run before the checks of a rebased commit as well', async () => {
    const files = { 'gen.js': "require('fs').writeFileSync('generated.js', '')", '.gitignore': 'generated.js\n' }
    const agent = claude(`begin(); put(args.join(' ').includes('Task 1') ? 'made.txt' : 'other.txt', 'x'); end()`)
    scene = await openScene({ agent }, { workspace: { setup: 'node gen.js' }, maxParallel: 2 }, { files })
    const commands = ['test -f generated.js']
    const goal = await scene.goal([
      { commands, allowedPaths: ['made.txt'] },
      { commands, allowedPaths: ['other.txt'] },
    ])
    await scene.until(goal, 'ready', 'awaiting_human')
    expect([(await scene.task(goal)).place, (await scene.task(goal, 2)).place]).toEqual(['done', 'done'])
    expect(await scene.events(goal, 'merge.reverified')).toMatchObject([{ payload: { passed: true } }])
  })
})

describe('submodules', () => {
  const withSubmodule = async (agent: FaultAgent): Promise<void> => {
    scene = await openScene({ agent })
    const library = join(scene.top, 'library')
    makeRepository(library, { 'lib.js': 'module.exports = 1' })
    makeRepository(join(scene.top, 'other'))
    const add = ['-c', 'protocol.file.allow=always', 'submodule', 'add', '--quiet']
    user(scene.root, ...add, library, 'lib')
    user(scene.root, ...add, join(scene.top, 'other'), 'gone')
    commitAll(scene.root)
    for (const path of [
      library,
      join(scene.top, 'other'),
      join(scene.root, 'gone'),
      join(scene.root, '.git/modules/gone'),
    ])
      rmSync(path, { recursive: true })
    mkdirSync(join(scene.root, 'gone'))
  }

  test('are there for agent and checks; a missing one and a change below one are named in event and verdict', async () => {
    await withSubmodule(
      claude(
        `begin(); put('TOP/prompt', args.join(' ')); put('lib/lib.js', 'module.exports = 2'); put('made.txt', 'made'); end()`,
      ),
    )
    const goal = await scene.goal([{ commands: [`node -e "require('./lib/lib.js')"`, 'node check.js'] }])
    await scene.until(goal, 'ready', 'awaiting_human')
    expect((await scene.task(goal)).place).toBe('done')
    const missing = [{ path: 'gone', reason: 'its objects are not on this machine' }]
    expect(await prepared(goal)).toEqual([{ submodules: ['lib'], missing, copied: [], setup: false }])
    const [run] = await scene.runs(goal)
    const notes = run?.verdict?.notes.join('\n')
    expect(notes).toContain('submodule gone was missing')
    expect(notes).toContain(
      'lib is not part of the work: changes inside a submodule cannot be committed here (lib/lib.js)',
    )
    expect(git('diff', '--name-only', 'main', `unstuck/goal/${goal}`)).toBe('made.txt')
    expect(readFileSync(join(scene.top, 'prompt'), 'utf8')).toMatch(/Submodules: lib\..*\n.*cannot be fetched: gone/)
  })

  test('whose files alone were changed are no work: the agent is told so', async () => {
    await withSubmodule(
      claude(`begin(); put('TOP/prompt.' + count('TOP/starts'), args.join(' ')); put('lib/lib.js', 'x'); end()`),
    )
    const goal = await scene.goal([{}])
    await scene.until(goal, 'awaiting_human')
    expect(readFileSync(join(scene.top, 'prompt.2'), 'utf8')).toContain(
      'changes inside a submodule cannot be committed',
    )
  })
})

test('runs beside each other have ports of their own, for agent and checks, which are given back', async () => {
  const told = 'process.env.UNSTUCK_PORT_RANGE'
  const agent = claude(`begin()
    put('TOP/agent/' + ${told}, args.join(' ').includes(${told}) ? process.env.UNSTUCK_PORT : 'not told')
    put(args.join(' ').includes('Task 1') ? 'made.txt' : 'other.txt', 'x'); end()`)
  const files = {
    'ports.js': `const fs = require('fs'); fs.mkdirSync('TOP/checks', { recursive: true }); fs.writeFileSync('TOP/checks/' + ${told}, '')`,
  }
  scene = await openScene({ agent }, { maxParallel: 2 }, { files })
  const commands = ['node ports.js']
  const goal = await scene.goal([
    { commands, allowedPaths: ['made.txt'] },
    { commands, allowedPaths: ['other.txt'] },
  ])
  await scene.until(goal, 'ready', 'awaiting_human')
  const given = readdirSync(join(scene.top, 'agent')).sort()
  expect(given).toHaveLength(2)
  for (const range of given) {
    expect(range).toMatch(/^\d{5}-\d{5}$/)
    expect(readFileSync(join(scene.top, 'agent', range), 'utf8')).toBe(range.split('-')[0])
    expect(readdirSync(join(scene.top, 'checks'))).toContain(range)
  }
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'unstuck', `ports-${hostname()}`)
  const ids = (await scene.runs(goal)).map(({ id }) => id)
  await scene.waitFor('no lease', async () => {
    const leases = readdirSync(folder).map((name) =>
      existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : '',
    )
    return ids.every((id) => leases.every((lease) => !lease.includes(id))) || undefined
  })
})

describe('packages that an agent added', () => {
  test('are installed from the work’s own lockfile before its checks, which is no recovery', async () => {
    const manifest = (dependencies: object): string => JSON.stringify({ name: 'p', version: '1.0.0', dependencies })
    const files = {
      '.gitignore': 'node_modules/\n',
      'package.json': manifest({}),
      'uses.js': "if (require('added') !== 42) process.exit(1)",
    }
    const agent = claude(`begin()
      put('lib/package.json', JSON.stringify({ name: 'added', version: '1.0.0' }))
      put('lib/index.js', 'module.exports = 42')
      put('package.json', JSON.stringify({ name: 'p', version: '1.0.0', dependencies: { added: 'file:lib' } }))
      const { execFileSync } = await import('node:child_process')
      execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund'], { stdio: 'ignore' })
      end()`)
    scene = await openScene({ agent }, {}, { files })
    const goal = await scene.goal([{ commands: ['node uses.js'] }])
    await scene.until(goal, 'ready', 'awaiting_human')
    expect((await scene.task(goal)).place).toBe('done')
    expect(filesOf(goal)).toEqual(expect.arrayContaining(['lib/index.js', 'package-lock.json']))
    expect(await scene.recoveries(goal)).toEqual([])
    const [run] = await scene.runs(goal)
    expect(run?.verdict?.installed).toMatchObject([{ manager: 'npm', folder: '' }])
  })

  test.each([
    ['package-lock.json', 'undefined'],
    ['pnpm-lock.yaml', 'copy'],
  ])('with %s are not linked to what other projects use (%s)', async (lockfile, method) => {
    const told = 'String(process.env.pnpm_config_package_import_method)'
    const files = { [lockfile]: '', 'told.js': `require('fs').writeFileSync('TOP/check', ${told})` }
    const agent = claude(`begin(); put('TOP/agent', ${told}); put('made.txt', 'x'); end()`)
    scene = await openScene({ agent }, {}, { files })
    await scene.until(await scene.goal([{ commands: ['node told.js'] }]), 'ready', 'awaiting_human')
    for (const who of ['agent', 'check']) expect(readFileSync(join(scene.top, who), 'utf8')).toBe(method)
  })
})

test('what cargo, Go and bun keep of what they downloaded and built is not shared between agents and checks', async () => {
  const names = ['GOCACHE', 'GOMODCACHE', 'CARGO_HOME', 'BUN_INSTALL_CACHE_DIR']
  const told = `JSON.stringify(${JSON.stringify(names)}.map((name) => process.env[name]?.includes('/caches/') ?? false))`
  const files = { 'lib/go.mod': 'module m\n', 'told.js': `require('fs').writeFileSync('TOP/check', ${told})` }
  const agent = claude(`begin(); put('TOP/agent', ${told}); put('made.txt', 'x'); end()`)
  scene = await openScene({ agent }, {}, { files })
  await scene.until(await scene.goal([{ commands: ['node told.js'] }]), 'ready', 'awaiting_human')
  const seen = (who: string): unknown => JSON.parse(readFileSync(join(scene.top, who), 'utf8'))
  expect([seen('agent'), seen('check')]).toEqual([names.map(() => false), names.map(() => true)])
})

describe("a virtual environment, where the owner's checkout has one", () => {
  const install = (top: string): string => `#!/bin/sh
[ "$2" = venv ] || exec false
mkdir -p .venv/bin && printf '#!/bin/sh\\n[ -f requirements.txt ] && echo "$PWD" > .venv/made-at\\n' > .venv/bin/python
chmod +x .venv/bin/python
echo made >> ${top}/made
`
  const check = "process.exit(require('fs').readFileSync('.venv/made-at', 'utf8').trim() === process.cwd() ? 0 : 1)"
  const open = async (program: (top: string) => string): Promise<string> => {
    const programs = mkdtempSync(join(tmpdir(), 'unstuck-python-'))
    onTestFinished(() => rmSync(programs, { recursive: true }))
    writeFileSync(join(programs, 'python3'), program(programs), { mode: 0o755 })
    const files = { 'requirements.txt': 'word==1.0\n', 'uses.js': check }
    const agent = claude(`begin(); put('made.txt', String(existsSync('.venv/made-at'))); end()`)
    const environment = { PATH: `${programs}:${process.env.PATH ?? ''}` }
    scene = await openScene({ agent }, {}, { files, environment })
    mkdirSync(join(scene.root, '.venv'))
    return programs
  }

  test('is made at its own path for the agent and for its checks, and is in no commit', async () => {
    const programs = await open(install)
    const goal = await scene.goal([{ commands: ['node uses.js'] }])
    await scene.until(goal, 'ready', 'awaiting_human')
    expect((await scene.task(goal)).place).toBe('done')
    expect(git('show', `unstuck/goal/${goal}:made.txt`)).toBe('true')
    expect(filesOf(goal).filter((path) => path.includes('.venv'))).toEqual([])
    expect(await scene.recoveries(goal)).toEqual([])
    expect(readFileSync(join(programs, 'made'), 'utf8')).toBe('made\nmade\n')
  })

  test('that cannot be made keeps no agent from its work', async () => {
    await open(() => '#!/bin/sh\nmkdir -p .venv/bin && exit 1\n')
    const goal = await scene.goal([{ commands: ['node check.js'] }])
    await scene.until(goal, 'ready', 'awaiting_human')
    expect((await scene.task(goal)).place).toBe('done')
    expect(git('show', `unstuck/goal/${goal}:made.txt`)).toBe('false')
    expect(filesOf(goal).filter((path) => path.includes('.venv'))).toEqual([])
  })
})
