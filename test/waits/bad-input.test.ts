/**
 * Bad input for every command: which exit code, what the message names, and that nothing was created or changed. One engine
 * serves all cases; the command line runs in this process, and for one case of each kind in one of its own.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa, execaSync } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GoalRequest, GoalView, Run } from '../../src/api/contract.ts'
import { openScene, picture, standardTask, until, type Scene } from '../hostile/scene.ts'
import { runHere } from '../cli/in-process.ts'
import { openPlainUser, type PlainUser } from '../support/plain-user.ts'
import { user } from '../workspace/scene.ts'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

let scene: Scene
/** Ids that the cases name in braces: {active}, {pausedTask}, … */
const names: Record<string, string> = {}

const request1 = (harness: string): GoalRequest => ({
  input: { title: 'A goal', requirement: 'x', tasks: [structuredClone(standardTask)], allowedDirs: [], warnings: [] },
  options: { autoMerge: false, repoMode: 'local', allowedDirs: [], harness, limits: {} },
})

const begin = async (name: string): Promise<void> => {
  const { id } = await scene.api<GoalView>('/goals', request1('hang'))
  names[name] = id
}

const filled = (text: string): string => text.replace(/\{(\w+)\}/g, (whole, name: string) => names[name] ?? whole)

const put = (name: string, content: string | Buffer): void => writeFileSync(join(scene.top, 'in', name), content)

const taskFile = (file: object, task: object = {}): string =>
  JSON.stringify({ version: 1, goal: 'g', tasks: [{ title: 't', instructions: 'i', ...task }], ...file })

const inputs: Record<string, string | Buffer> = {
  'empty.json': '',
  'huge.json': 'x'.repeat(2_000_000),
  'binary.json': Buffer.from([0xff, 0xfe, 0, 1]),
  'cut.json': '{"version": 1,\n "goal": \u001b[31m}',
  'list.json': '[]',
  'key.json': taskFile({ gaol: 1 }),
  'task-key.json': taskFile({}, { allowedPath: ['x'] }),
  'title.json': taskFile({}, { title: 5 }),
  'two-lines.json': taskFile({}, { title: 'a\nb' }),
  'path.json': taskFile({}, { allowedPaths: ['../x'] }),
  'after.json': taskFile({}, { after: ['9'] }),
  'version.json': taskFile({ version: 2 }),
  'nul.json': taskFile({}, { commands: ['a\0b'] }),
  'harness.json': taskFile({}, { harness: 'nosuch' }),
  'empty.md': '',
  'no-box.md': 'nothing\n',
  'binary.md': Buffer.from([0xff, 0xfe]),
  'word.md': '- [ ] A\n  - path: x\n',
  'path.md': '- [ ] A\n  - paths: ../x\n',
  'twice.md': '- [ ] A\n- [ ] A\n',
  'after.md': '- [ ] A\n  - after: Z\n',
  'nul.md': '- [ ] A\0B\n',
  'note.txt': 'x',
  'script.json': '{"x": 1}',
  'no-script.json': 'nope',
}

beforeAll(async () => {
  scene = await openScene(['honest', 'hang'])
  const done = await scene.work()
  names.done = done.id
  for (const name of ['active', 'paused', 'gone']) await begin(name)
  // One that is paused before its agent hangs would go back to the queue a moment later, and that is no change of ours.
  await until(async () => {
    const { goals } = await scene.status()
    const hangs = ({ tasks }: (typeof goals)[number]): boolean => tasks[0]?.run?.phase === 'supervise'
    const both = goals.filter(({ id }) => id === names.active || id === names.paused)
    return both.every(hangs) ? both : undefined
  }, 'the hanging agents')
  await scene.api(`/goals/${names.paused}/pause`, {})
  await scene.api(`/goals/${names.gone}/cancel`, {})
  // Its branch goes once its agent has ended, and that is no change of ours either.
  const isGone = async (): Promise<true | undefined> =>
    user(scene.root, 'for-each-ref', `refs/heads/unstuck/goal/${names.gone}`) === '' ? true : undefined
  await until(isGone, 'the end of the branch of the cancelled goal')
  for (const goal of (await scene.status()).goals) {
    const name = Object.keys(names).find((key) => names[key] === goal.id) ?? ''
    names[`${name}Task`] = goal.tasks[0]?.id ?? ''
  }
  names.run = (await scene.api<Run[]>(`/runs?goal=${done.id}`))[0]?.id ?? ''
  for (const folder of ['in', 'full', 'plain', 'unborn', 'bare.git']) mkdirSync(join(scene.top, folder))
  for (const [name, content] of Object.entries(inputs)) put(name, content)
  writeFileSync(join(scene.top, 'full', 'mine.txt'), 'mine')
  user(join(scene.top, 'unborn'), 'init', '--quiet')
  user(join(scene.top, 'bare.git'), 'init', '--quiet', '--bare')
  names.in = join(scene.top, 'in')
  names.top = scene.top
})
afterAll(async () => {
  await scene.api(`/goals/${names.active}/cancel`, {})
  await scene.clear()
})

/** Everything that a refused command could have left behind. */
const facts = async () => ({
  user: picture(scene.root),
  // An engine that starts makes its reserve for a full disk a little later.
  state: readdirSync(join(scene.top, 'state')).filter((name) => name !== 'reserve'),
  own: readdirSync(scene.stateDir).filter((name) => name !== 'runs'),
  top: readdirSync(scene.top),
  folders: ['in', 'full', 'plain', 'unborn'].map((name) => readdirSync(join(scene.top, name))),
  goals: (await scene.status()).goals.map(({ id, state, tasks }) => [id, state, ...tasks.map(({ place }) => place)]),
  branches: user(scene.root, 'for-each-ref'),
})

interface Place {
  cwd?: string
  env?: Record<string, string>
}

const cli = (args: string[], { cwd = scene.root, env = {} }: Place = {}) =>
  runHere(args, { cwd, environment: { ...scene.environment, ...env } })

/** The same in a process of its own. */
const realCli = (args: string[], options: Place = {}) =>
  execa(process.execPath, [entry, ...args], {
    cwd: options.cwd ?? scene.root,
    env: { ...scene.environment, ...options.env },
    extendEnv: false,
    reject: false,
    timeout: 120_000,
  })

type Case = [line: string, exit: number, message: RegExp, folder?: string]

const commandLines: Case[] = [
  ['statsu', 2, /unknown command "statsu".*unstuck status/],
  ['frobnicate', 2, /unknown command "frobnicate".*--help/],
  ['status --jsno', 2, /'--jsno'[^]*--json/],
  ['status surplus', 2, /'status'.*surplus/],
  ...['retry', 'cancel', 'explain'].map((name): Case => [name, 2, /missing required argument 'id'[^]*--help/]),
  ['pause', 2, /name the goal to pause[^]*--judge/],
  ['run', 2, /missing required argument 'goal'/],
  ['logs', 2, /id of a run .* or --last/],
  ['logs r-x --last', 2, /id of a run .* or --last/],
  ['sim', 2, /missing required argument 'script'/],
  ['run x --max-seconds -5', 2, /--max-seconds.*above 0/],
  ['run x --max-cost abc', 2, /--max-cost.*above 0/],
  ['run x --max-tokens 0', 2, /--max-tokens.*above 0/],
  ['up --idle-exit abc', 2, /--idle-exit.*above 0/],
  ['worker', 78, /needs a PostgreSQL store.*give --database-url or UNSTUCK_DATABASE_URL/],
  ['up', 5, /already running.*unstuck stop/],
  ['report --since nonsense', 2, /--since "nonsense".*12h/],
  ['report --since 999999999999d', 2, /--since "999999999999d".*12h/],
  ['sim {in}/script.json', 2, /script\.json[^]*conversations/],
  ['sim {in}/no-script.json', 2, /no-script\.json.*not JSON/],
  ['sim {in}/nosuch.json', 2, /cannot read the script .*nosuch\.json/],
  ['sim {in}', 2, /cannot read the script .*in /],
  ['sim {in}/script.json --port 99999', 2, /--port.*65535/],
]

const ids: Case[] = [
  ['retry g-nosuch', 4, /no goal g-nosuch.*unstuck status/],
  ['retry t-nosuch', 4, /no task t-nosuch.*unstuck tasks/],
  ['retry banana', 2, /"banana" is not the id of a goal.*unstuck status/],
  ['retry {run}', 2, /not the id of a goal .* or task/],
  ['cancel g-nosuch', 4, /no goal g-nosuch/],
  ['pause g-nosuch', 4, /no goal g-nosuch/],
  ['pause {activeTask}', 2, /only a goal.*unstuck cancel t-/],
  ['resume g-nosuch', 4, /no goal g-nosuch/],
  ['resume {activeTask}', 2, /only a goal.*unstuck retry t-/],
  ['explain nosuch', 4, /no task, run or goal nosuch/],
  ['logs nosuch', 2, /"nosuch" is not the id of a run .*unstuck runs/],
  ['logs r-nosuch', 4, /no run r-nosuch.*unstuck runs/],
  ['logs t-nosuch', 4, /no task t-nosuch/],
  ['logs g-nosuch', 4, /no goal g-nosuch/],
  ['tasks --goal g-nosuch', 4, /no goal g-nosuch/],
  ['runs --task t-nosuch', 4, /no task t-nosuch/],
  ['runs --state failed,lost', 2, /--state.*failed,lost.*running, success, failed, cancelled/],
  ['events --goal g-nosuch', 4, /no goal g-nosuch/],
  ['status --ended -1', 2, /--ended "-1": give a whole number of goals from 0 to 100000/],
  ['restore nosuch', 2, /--into/],
  ['approve', 2, /missing required argument 'task'\nSee "unstuck approve --help"\./],
  ['restore nosuch --into {top}/new', 4, /no snapshot nosuch/],
  ['retry {doneTask}', 5, /is ready.*unstuck run/],
  ['retry {done}', 5, /no task to retry.*unstuck tasks/],
  ['retry {activeTask}', 5, /running cannot be retried; it can be cancelled/],
  ['resume {active}', 5, /active cannot be resumed; it can be paused or cancelled/],
  ['resume {done}', 5, /is ready; there is nothing to resume/],
  ['pause {paused}', 5, /paused cannot be paused; it can be resumed or cancelled/],
  ['pause {done}', 5, /ready cannot be paused/],
  ['cancel {gone}', 5, /cancelled cannot be cancelled; it has ended/],
  ['cancel {goneTask}', 5, /cancelled already/],
  ['cancel {doneTask}', 5, /done cannot be cancelled; it has ended/],
  ['retry {gone}', 5, /is cancelled/],
]

const goals: Case[] = [
  ['run {in}/empty.json', 2, /empty\.json: the text is empty/],
  ['run {in}/huge.json', 2, /huge\.json is larger than 1 MiB/],
  ['run {in}/binary.json', 2, /binary\.json: the file is not UTF-8/],
  ['run {in}/cut.json', 2, /cut\.json: the file is not valid JSON/],
  ['run {in}/list.json', 2, /list\.json: the whole file is \[\]/],
  ['run {in}/key.json', 2, /key\.json: unknown key gaol.*"goal"/],
  ['run {in}/task-key.json', 2, /tasks\[0\]\.allowedPath\. Did you mean "allowedPaths"/],
  ['run {in}/title.json', 2, /title\.json: tasks\[0\]\.title is 5; allowed/],
  ['run {in}/two-lines.json', 2, /tasks\[0\]\.title/],
  ['run {in}/path.json', 2, /path\.json: tasks\[0\]\.allowedPaths\[0\]/],
  ['run {in}/after.json', 2, /tasks\[0\]\.after\[0\] is "9"/],
  ['run {in}/version.json', 2, /version is 2; allowed: 1/],
  ['run {in}/nul.json', 2, /tasks\[0\]\.commands\[0\].*without NUL/],
  ['run {in}/harness.json', 2, /harness\.json: harness of task 1.*"nosuch"; known: .*honest/],
  ['run {in}/empty.md', 2, /empty\.md: the text is empty/],
  ['run {in}/no-box.md', 2, /no-box\.md: the checklist has no tasks.*- \[ \]/],
  ['run {in}/binary.md', 2, /binary\.md: the file is not UTF-8/],
  ['run {in}/word.md', 2, /word\.md:2: unknown word "path:"/],
  ['run {in}/path.md', 2, /path\.md:2: path/],
  ['run {in}/twice.md', 2, /twice\.md:2: the title "A"/],
  ['run {in}/after.md', 2, /after\.md:2: after "Z"/],
  ['run {in}/nul.md', 2, /nul\.md: the text contains a NUL byte/],
  ['run {in}/nosuch.json', 2, /nosuch\.json: the file does not exist/],
  ['run {in}/note.txt', 2, /note\.txt: this file is neither/],
  ['run {in}', 2, /in is a folder/],
  ['run ', 2, /the goal: the text is empty/],
  ['run x --allow-dir {top}/nosuch', 2, /--allow-dir .*nosuch: this directory does not exist/],
  ['run x --allow-dir {in}/note.txt', 2, /--allow-dir .*note\.txt/],
  ['run x --allow-dir /', 2, /--allow-dir \/ is the whole file system: too wide to be given to an agent/],
  ['run x --harness nosuch', 2, /no harness "nosuch"; known: /],
]

const places: Case[] = [
  ['run x', 2, /plain is not a git repository; run "git init"/, 'plain'],
  ['run x', 5, /unborn has no commit yet/, 'unborn'],
  ['run x', 2, /bare\.git is a bare repository/, 'bare.git'],
  ['', 2, /bare\.git is a bare repository/, 'bare.git'],
  ['init', 2, /bare\.git is a bare repository/, 'bare.git'],
  ...[
    'status',
    'tasks',
    'runs',
    'events',
    'explain t-x',
    'logs r-x',
    'report',
    'doctor',
    'restore',
    'clean',
    'resume',
    'retry g-x',
    'cancel t-x',
    'pause g-x',
  ].map((line): Case => [line, 4, /nothing has been run for .*plain yet/, 'plain']),
]

describe.each([
  ['command lines', commandLines],
  ['ids and states', ids],
  ['goals', goals],
  ['places', places],
])('%s', (_title, cases) => {
  let before: Awaited<ReturnType<typeof facts>>
  beforeAll(async () => {
    before = await facts()
  })
  test.each(cases)('unstuck %s -> %i', async (line, exit, message, folder) => {
    const args = line === '' ? [] : line.split(' ').map(filled)
    const place = folder === undefined ? {} : { cwd: join(scene.top, folder) }
    const result = await cli(args, place)
    expect([result.exitCode, result.stdout]).toEqual([exit, ''])
    expect(result.stderr).toMatch(message)
    expect(result.stderr).toMatch(/^unstuck: /)
    expect(result.stderr).not.toMatch(/\n\s+at |unexpected error|(?!\n)\p{Cc}/u)
  })
  test('the first of them in a process of its own', async () => {
    const [line, exit, message, folder] = cases[0]!
    const result = await realCli(
      line.split(' ').map(filled),
      folder === undefined ? {} : { cwd: join(scene.top, folder) },
    )
    expect([result.exitCode, result.stdout, result.stderr]).toEqual([exit, '', expect.stringMatching(message)])
  })
  test('none of them left or changed anything', async () => {
    expect(await facts()).toEqual(before)
  })
})

describe('configuration', () => {
  let before: Awaited<ReturnType<typeof facts>>
  beforeAll(async () => {
    before = await facts()
  })
  const path = (): string => join(scene.root, '.unstuck', 'config.json')
  const withConfig = async (content: string | Buffer, args: string[]) => {
    const good = readFileSync(path())
    writeFileSync(path(), content)
    const result = await cli(args)
    writeFileSync(path(), good)
    return result
  }
  test.each<[string, string | Buffer, RegExp]>([
    ['is empty', '', /config\.json: it is not JSON/],
    ['is cut', '{"maxParallel": 2,', /config\.json: it is not JSON/],
    ['is binary', Buffer.from([0, 1, 2, 0xff]), /config\.json: it is not JSON/],
    ['is huge', `{"x": "${'x'.repeat(2_000_000)}"}`, /config\.json: it is larger than 1 MiB/],
    ['is a list', '[]', /config\.json: it is \[\]; allowed: a JSON object/],
    ['has an unknown key', '{"maxParalel": 2}', /config\.json: unknown key maxParalel. Did you mean "maxParallel"/],
    ['has a wrong type', '{"maxParallel": "two"}', /config\.json: maxParallel is "two"; allowed/],
    ['has a wrong value', '{"maxParallel": 0}', /config\.json: maxParallel is 0; allowed/],
    ['names an unknown harness', '{"harness": {"default": "cluade"}}', /harness\.default is "cluade".*"claude"/],
    ['holds terminal escapes', '{"\\u001b]0;x\\u0007\\u001b[2Jharness\\u009b": 1}', /config\.json: unknown key/],
  ])('%s', async (_title, content, message) => {
    const { exitCode, stderr } = await withConfig(content, ['run', 'x'])
    expect([exitCode, stderr]).toEqual([78, expect.stringMatching(message)])
    expect(stderr.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
  })
  test('whose program is not there is refused before anything is accepted', async () => {
    const config = '{"harness": {"default": "mine", "mine": {"command": ["no-such-program"]}}}'
    const { exitCode, stderr } = await withConfig(config, ['run', 'x'])
    expect([exitCode, stderr]).toEqual([
      78,
      expect.stringMatching(/"no-such-program" of harness "mine" is not on the PATH/),
    ])
  })
  test('in a variable that the running engine does not have is refused by name', async () => {
    const env = { ...scene.environment, POLICY_RECOVERY_MODE: 'balanced', MAX: '1' }
    const { exitCode, stderr } = await cli(['run', 'x'], { cwd: scene.root, env })
    expect([exitCode, stderr]).toEqual([5, expect.stringMatching(/POLICY_RECOVERY_MODE.*unstuck stop/)])
  })
  test('none of them left or changed anything', async () => {
    expect(await facts()).toEqual(before)
  })
})

describe('state folder', () => {
  const fresh = (name: string): { cwd: string; env: Record<string, string> } => {
    const cwd = join(scene.top, `repo-${name}`)
    mkdirSync(join(cwd, '.unstuck'), { recursive: true })
    user(cwd, 'init', '--quiet')
    user(cwd, 'commit', '--quiet', '--allow-empty', '-m', 'first')
    writeFileSync(
      join(cwd, '.unstuck', 'config.json'),
      // Any program that every user can start; this Node may be in a folder that only its owner can enter.
      JSON.stringify({ harness: { default: 'x', x: { command: ['sh'] } } }),
    )
    return { cwd, env: { UNSTUCK_HOME: join(scene.top, `home-${name}`) } }
  }

  let plain: PlainUser
  beforeAll(() => {
    plain = openPlainUser({ parts: ['bin', 'sim', 'src'], packages: true })
  })
  afterAll(() => plain?.close())

  test('that cannot be made is named, and no engine is left', async () => {
    const place = fresh('file')
    writeFileSync(place.env.UNSTUCK_HOME ?? '', 'a file')
    const { exitCode, stderr } = await cli(['run', 'x'], place)
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^unstuck: cannot access .*home-file/)])
  })

  test('that this user may not write is named, and nothing is made in it', async () => {
    const place = fresh('readonly')
    const home = place.env.UNSTUCK_HOME ?? ''
    mkdirSync(home)
    chmodSync(home, 0o555)
    chmodSync(scene.top, 0o755)
    plain.give(place.cwd)
    plain.give(home)
    const result = plain.run('bin/unstuck.js', ['run', 'x'], {
      cwd: place.cwd,
      env: { ...scene.environment, ...place.env },
    })
    expect([result.exitCode, result.stderr]).toEqual([1, expect.stringMatching(/home-readonly.*EACCES/)])
    expect(readdirSync(home)).toEqual([])
  })

  test.each<[string, string, number]>([
    ['open to others', 'chmod 700 ', 0o755],
    ['open to the group', 'chmod 700 ', 0o770],
    ['closed to its owner', 'chmod 700 ', 0o500],
  ])('that is %s is refused with the command that helps, and nothing is made in it', async (name, help, mode) => {
    const place = fresh(name.replaceAll(' ', '-'))
    const { id } = await (await import('../../src/workspace/repository.ts')).openRepository(place.cwd)
    const dir = join(place.env.UNSTUCK_HOME ?? '', id)
    mkdirSync(dir, { recursive: true })
    chmodSync(dir, mode)
    for (const args of [['run', 'x'], ['up']]) {
      const { exitCode, stderr } = await cli(args, place)
      expect([args, exitCode, stderr]).toEqual([args, 1, expect.stringContaining(`${help}${dir}`)])
    }
    expect(readdirSync(dir)).toEqual([])
  })

  test('of another user is refused by name', async () => {
    const place = fresh('foreign')
    const { id } = await (await import('../../src/workspace/repository.ts')).openRepository(place.cwd)
    const dir = join(place.env.UNSTUCK_HOME ?? '', id)
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    plain.give(dir)
    const { exitCode, stderr } = await cli(['run', 'x'], place)
    const foreign = process.getuid?.() === 0
    if (foreign) expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/belongs to another user/)])
  })

  test('with wrong rules for paths in its repository ends run with the error of the engine and its status, and leaves nothing', async () => {
    const place = fresh('wrong-rules')
    mkdirSync(join(place.cwd, '.unstuck'), { recursive: true })
    writeFileSync(join(place.cwd, '.unstuck', 'policy-recovery.json'), '{"mode":"balancd"}')
    const { exitCode, stderr } = await cli(['run', 'x'], place)
    expect([exitCode, stderr]).toEqual([78, expect.stringMatching(/policy-recovery\.json: mode .*"balanced"/)])
    const named = await cli(['run', 'x'], { ...place, env: { ...place.env, POLICY_RECOVERY_MODE: 'wild' } })
    expect(named.exitCode).toBe(78)
    expect((await cli(['stop'], place)).exitCode).toBe(0)
  })

  test('that is made here is for its owner alone, and so is what was made before', async () => {
    expect(statSync(scene.stateDir).mode & 0o777).toBe(0o700)
  })

  test('that the system does not take is named at once', async () => {
    const { exitCode, stderr } = await cli(['run', 'x'], { ...fresh('proc'), env: { UNSTUCK_HOME: '/proc/self/x' } })
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^unstuck: cannot access \/proc\/self\/x/)])
  })

  test.each([
    ['garbage', 'not json'],
    [
      'of a process that is gone',
      JSON.stringify({ url: 'http://127.0.0.1:9', identity: { host: 'x', bootId: 'x', pid: 1, startTime: '1' } }),
    ],
    ['without an address', '{}'],
  ])('with an engine.json that is %s counts as one without an engine', async (_title, content) => {
    const place = fresh('stale')
    const { id } = await (await import('../../src/workspace/repository.ts')).openRepository(place.cwd)
    const dir = join(place.env.UNSTUCK_HOME ?? '', id)
    mkdirSync(dir, { recursive: true })
    writeFileSync(join(dir, 'token'), 'x')
    writeFileSync(join(dir, 'engine.json'), content)
    const { exitCode, stdout } = await cli(['stop'], place)
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^No engine is running for .*repo-stale/)])
  })

  test.each([
    ['missing', undefined],
    ['wrong', 'wrong-token'],
  ])('with a token that is %s is answered once the engine has written it anew', async (_title, content) => {
    const path = join(scene.stateDir, 'token')
    const token = readFileSync(path, 'utf8')
    if (content === undefined) rmSync(path)
    else writeFileSync(path, content)
    const { exitCode, stderr } = await cli(['status'])
    expect([exitCode, stderr, readFileSync(path, 'utf8')]).toEqual([0, '', token])
  })

  test('a snapshot is not restored over files that are there', async () => {
    await scene.api(`/tasks/${names.pausedTask}/cancel`, {})
    const before = await facts()
    const snapshots = JSON.parse((await cli(['restore', '--json'])).stdout) as { id: string }[]
    const id = snapshots[0]?.id ?? 'nosuch'
    const { exitCode, stderr } = await cli(['restore', id, '--into', join(scene.top, 'full')])
    expect(snapshots.length).toBeGreaterThan(0)
    expect([exitCode, stderr]).toEqual([5, expect.stringMatching(/full is not empty.*mine\.txt.*new folder/)])
    expect(await facts()).toEqual(before)
  })

  test.each(['/proc/self/x', '/proc/self/x/y', '{top}/full/mine.txt', '{top}/full/mine.txt/x'])(
    'a snapshot cannot go to %s, which is said at once',
    async (where) => {
      const snapshots = JSON.parse((await cli(['restore', '--json'])).stdout) as { id: string }[]
      const into = filled(where)
      const { exitCode, stderr } = await cli(['restore', snapshots[0]?.id ?? '', '--into', into])
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`${into} cannot be written`)])
    },
  )
})

describe('the API', () => {
  let before: Awaited<ReturnType<typeof facts>>
  beforeAll(async () => {
    before = await facts()
  })

  interface Call {
    method?: string
    path?: string
    headers?: Record<string, string>
    body?: string
  }
  const address = () =>
    JSON.parse(readFileSync(join(scene.stateDir, 'engine.json'), 'utf8')) as { url: string; socket: string }
  const call = ({ method = 'GET', path = '/status', headers = {}, body }: Call) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const token = readFileSync(join(scene.stateDir, 'token'), 'utf8').trim()
      const { url, socket: socketPath } = address()
      const { host } = new URL(url)
      const all = { host, authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers }
      const sent = request({ agent: false, socketPath, method, path, headers: all }, (answer) => {
        let text = ''
        answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
      })
      sent.on('error', reject)
      sent.end(body)
    })
  const goal = (change: (value: GoalRequest) => void): string => {
    const value = request1('hang')
    change(value)
    return JSON.stringify(value)
  }
  test.each<[string, () => Call, number, RegExp]>([
    ['no token', () => ({ headers: { authorization: '' } }), 401, /token/],
    ['a wrong token', () => ({ headers: { authorization: 'Bearer wrong' } }), 401, /token/],
    ['a foreign Host', () => ({ headers: { host: 'evil.invalid' } }), 403, /Host.*evil\.invalid/],
    ['the right Host on another port', () => ({ headers: { host: '127.0.0.1:1' } }), 403, /Host/],
    ['a foreign Origin', () => ({ headers: { origin: 'http://evil.invalid' } }), 403, /Origin.*evil\.invalid/],
    ['an Origin of null', () => ({ headers: { origin: 'null' } }), 403, /Origin/],
    ['a body too large', () => ({ method: 'POST', path: '/goals', body: 'x'.repeat(5_000_000) }), 413, /larger/],
    ['malformed JSON', () => ({ method: 'POST', path: '/goals', body: '{' }), 400, /not JSON/],
    ['no body', () => ({ method: 'POST', path: '/goals' }), 400, /not JSON/],
    ['an empty object', () => ({ method: 'POST', path: '/goals', body: '{}' }), 400, /field input/],
    [
      'an unknown field',
      () => ({ method: 'POST', path: '/resume', body: '{"goal":null,"x":1}' }),
      400,
      /Unrecognized key.*x/,
    ],
    [
      'a NUL in a title',
      () => ({ method: 'POST', path: '/goals', body: goal((v) => (v.input.title = 'a\0b')) }),
      400,
      /input\.title.*(NUL|control)/,
    ],
    [
      'a NUL in a path',
      () => ({ method: 'POST', path: '/goals', body: goal((v) => v.input.tasks[0]?.allowedPaths.push('a\0')) }),
      400,
      /allowedPaths.*NUL/,
    ],
    [
      'half a character',
      () => ({ method: 'POST', path: '/goals', body: goal((v) => (v.input.requirement = '\ud800')) }),
      400,
      /requirement.*half/,
    ],
    [
      'escapes in a task title',
      () => ({
        method: 'POST',
        path: '/goals',
        body: goal((v) => v.input.tasks.push({ ...standardTask, title: '\u001b[2J' })),
      }),
      400,
      /title.*control/,
    ],
    [
      'an unknown harness',
      () => ({ method: 'POST', path: '/goals', body: JSON.stringify(request1('nosuch')) }),
      400,
      /nosuch/,
    ],
    ['a NUL in an id', () => ({ path: '/explain/a%00b' }), 400, /NUL/],
    ['a NUL in a filter', () => ({ path: '/events?goal=%00' }), 400, /NUL/],
    ['a broken escape in an id', () => ({ path: '/explain/%zz' }), 404, /no task, run or goal/],
    ['a path for an id', () => ({ path: '/runs/..%2f..%2fetc/log' }), 404, /no run/],
    ['a wrong cursor', () => ({ path: `/runs/${names.run}/log?stdout=-1` }), 400, /stdout/],
    ['a wrong limit', () => ({ path: '/events?limit=99999' }), 400, /limit/],
    ['a wrong time', () => ({ path: '/report?since=yesterday' }), 400, /since/],
    [
      'an illegal move',
      () => ({ method: 'POST', path: `/goals/${names.gone}/pause`, body: '{}' }),
      409,
      /cannot be paused/,
    ],
    ['an unknown goal', () => ({ method: 'POST', path: '/goals/g-x/pause', body: '{}' }), 404, /no goal g-x/],
    ['an unknown route', () => ({ path: '/nosuch' }), 404, /no GET \/nosuch/],
    ['a wrong method', () => ({ method: 'DELETE', path: '/goals' }), 405, /no DELETE \/goals/],
    [
      'a relative folder to restore into',
      () => ({ method: 'POST', path: '/restore', body: '{"id":"x","into":"x"}' }),
      400,
      /into/,
    ],
    [
      'an option for a snapshot',
      () => ({
        method: 'POST',
        path: '/restore',
        body: JSON.stringify({ id: '--all', into: join(scene.top, 'made') }),
      }),
      404,
      /no snapshot/,
    ],
  ])('%s', async (_title, make, status, message) => {
    const answer = await call(make())
    expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(message)])
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: expect.any(String), message: expect.any(String) } })
    expect(answer.text).not.toMatch(/\\n\s+at /)
  })

  test('none of them left or changed anything', async () => {
    expect(await facts()).toEqual(before)
  })
})

const oldNode = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .concat('/usr/local/bin', '/usr/bin')
  .map((folder) => join(folder, 'node'))
  .find((path) => {
    const version = existsSync(path) ? execaSync(path, ['--version'], { reject: false }).stdout : ''
    return /^v(\d|1\d|2[0-3])\./.test(version ?? '')
  })

test.skipIf(oldNode === undefined)(
  `an old Node is refused by name${oldNode === undefined ? ' (skipped: this machine has none)' : ''}`,
  async () => {
    const result = await execa(oldNode ?? '', [entry, 'status'], { reject: false })
    expect([result.exitCode, result.stdout]).toEqual([78, ''])
    expect(result.stderr).toMatch(/this is Node \d+\..*needs Node 24\.12[^]*npm ci/)
  },
)
