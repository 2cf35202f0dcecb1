/**
 * Several engines on one store and one repository, each a process with a state folder of its own: one is killed, one sleeps
 * past its leases and wakes up again. ENGINES_TASKS sets the size of the long form.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sendTo } from '../../src/cli/engine/send-over-socket.ts'
import { stateDirOf } from '../../src/api/state-dir.ts'
import type { GoalView, StatusView } from '../../src/api/contract.ts'
import { sql, type Db, type Queryable } from '../../src/store/db.ts'
import { listEngines } from '../../src/store/engine.ts'
import { currentLeader } from '../../src/store/leader.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { parseDatabaseUrl } from '../../src/store/postgres-location.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { openTestDatabase, type TestDatabase } from '../support/test-db.ts'
import { isLongForm } from '../support/form.ts'

const tasks = Number(process.env.ENGINES_TASKS ?? '20')
const deadlineMs = Math.max(150_000, tasks * 15_000)

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database?.clear())

interface Engine {
  home: string
  child: ChildProcess
  url: string
  id: string
  call<T>(method: string, path: string, body?: unknown): Promise<T>
}

interface World {
  top: string
  root: string
  db: Db
  engines: ChildProcess[]
  start(home: string, roles?: string, more?: NodeJS.ProcessEnv): Promise<Engine>
}

const git = (root: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root, encoding: 'utf8' }).trim()

/** Waits while told to, then leaves one file per task; where the task says so, only if it continues another one. */
const agent = `
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
const prompt = process.argv.slice(2).join(' ') + readFileSync(0, 'utf8')
const isWrong = prompt.includes('FAILS-FIRST') && !prompt.includes('[auto-rework] parentTask=')
for (const end = Date.now() + 60_000; existsSync('TOP/hold') && Date.now() < end;) await new Promise((next) => setTimeout(next, 20))
writeFileSync((isWrong ? 'wrong-' : 'made-') + process.env.UNSTUCK_RUN_DIR.split('/').at(-2) + '.txt', 'made')
`

/** Approves the work as soon as nothing holds it. */
const reviewer = `
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
readFileSync(0, 'utf8')
writeFileSync('TOP/asked-' + process.pid, '')
for (const end = Date.now() + 60_000; existsSync('TOP/hold-review') && Date.now() < end;) await new Promise((next) => setTimeout(next, 20))
console.log(JSON.stringify({ verdict: 'approve', risk: 'low', points: [], summary: 'All is well.' }))
`

const makeRepository = (top: string, config: object): string => {
  const root = join(top, 'repo')
  writeFileSync(join(top, 'agent.mjs'), agent.replaceAll('TOP', top))
  writeFileSync(join(top, 'reviewer.mjs'), reviewer.replaceAll('TOP', top))
  const program = (name: string) => ({ driver: 'command', command: [process.execPath, join(top, name)] })
  const harness = { default: 'made', made: program('agent.mjs'), reviewer: program('reviewer.mjs') }
  const files = {
    'check.js': "process.exit(require('node:fs').readdirSync('.').some((name) => name.startsWith('made-')) ? 0 : 1)",
    '.unstuck/config.json': JSON.stringify({
      harness,
      requeue: { inPlaceLimit: 0, reworkDepth: 0 },
      policyRecovery: { useLlm: false },
      ...config,
    }),
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  git(root, 'init', '-q', '-b', 'main')
  git(root, 'add', '-A')
  git(root, 'commit', '-qm', 'Start')
  return root
}

const daemon = fileURLToPath(new URL('../support/daemon.ts', import.meta.url))

const startEngine = async (
  world: Omit<World, 'start'>,
  home: string,
  roles = '',
  more: NodeJS.ProcessEnv = {},
): Promise<Engine> => {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env
  const environment = { PATH, HOME, XDG_CACHE_HOME, UNSTUCK_HOME: home, UNSTUCK_DATABASE_URL: database.url }
  const child = spawn(process.execPath, [daemon], {
    cwd: world.root,
    env: { ...environment, DAEMON_ROLES: roles, ...more },
    stdio: 'inherit',
  })
  world.engines.push(child)
  const stateDir = stateDirOf(environment, (await openRepository(world.root)).id)
  for (const deadline = performance.now() + 60_000; ;) {
    const path = join(stateDir, 'engine.json')
    const { url, socket, identity } = JSON.parse(existsSync(path) ? readFileSync(path, 'utf8') : '{}') as {
      url?: string
      socket?: string
      identity?: { pid: number }
    }
    if (url !== undefined && identity?.pid === child.pid) {
      const token = readFileSync(join(stateDir, 'token'), 'utf8').trim()
      const { id } = JSON.parse(readFileSync(join(stateDir, 'engine-id.json'), 'utf8')) as { id: string }
      const call = async <T>(method: string, route: string, body: unknown = {}): Promise<T> => {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
        const answer = await sendTo(socket)(`${url}${route}`, {
          method,
          headers,
          ...(method === 'GET' ? {} : { body: JSON.stringify(body) }),
        })
        const value: unknown = await answer.json()
        if (!answer.ok) throw new Error(`${route}: ${answer.status} ${JSON.stringify(value)}`)
        return value as T
      }
      return { home, child, url, id, call }
    }
    if (child.exitCode !== null || performance.now() > deadline) throw new Error('the engine did not start')
    await delay(20)
  }
}

const opened: World[] = []

const openWorld = async (config: object = {}): Promise<World> => {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-engines-')))
  const root = makeRepository(top, { maxParallel: 2, lease: { ttlSeconds: 6 }, ...config })
  const db = await openPostgres({ location: parseDatabaseUrl(database.url, (await openRepository(root)).id) })
  const parts = { top, root, db, engines: [] }
  const world = {
    ...parts,
    start: (home: string, roles?: string, more?: NodeJS.ProcessEnv) => startEngine(parts, join(top, home), roles, more),
  }
  opened.push(world)
  return world
}

const endAgents = (top: string): void => {
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)) {
    try {
      if (readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(top)) process.kill(Number(name), 'SIGKILL')
    } catch {
      // It ended meanwhile, or it is not ours to read.
    }
  }
}

afterEach(async () => {
  for (const { top, db, engines } of opened.splice(0)) {
    for (const child of engines.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
      child.kill('SIGCONT')
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    await db.close()
    endAgents(top)
    rmSync(top, { recursive: true, force: true, maxRetries: 5 })
  }
})

const waitFor = async (what: string, look: () => Promise<boolean>, ms = deadlineMs): Promise<void> => {
  for (const deadline = performance.now() + ms; !(await look());) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${ms / 1000} s`)
    await delay(100)
  }
}

const newGoal = async (
  engine: Engine,
  count: number,
  more: (number: number) => object = () => ({}),
): Promise<string> => {
  const task = (index: number) => ({
    id: String(index),
    title: `Task ${index}`,
    instructions: 'Do it.',
    allowedPaths: ['**'],
    deniedPaths: [],
    commands: ['node check.js'],
    after: [],
    priority: 0,
    role: 'worker',
    ...more(index),
  })
  const input = {
    ...{ title: 'Goal', requirement: 'Goal', allowedDirs: [], warnings: [] },
    tasks: Array.from({ length: count }, (_value, index) => task(index + 1)),
  }
  const options = { autoMerge: false, repoMode: 'local', allowedDirs: [], harness: null, limits: {} }
  return (await engine.call<GoalView>('POST', '/goals', { input, options })).id
}

const countOf = async (db: Db, text: string): Promise<number> =>
  (await db.query<{ n: number }>({ text: `select count(*)::int as n from ${text}`, values: [] }))[0]?.n ?? 0

const events = async (db: Db, type: string): Promise<{ payload: Record<string, unknown> }[]> =>
  db.query(sql`select payload from event where type = ${type} order by id`)

const isReady = (db: Db, goal: string) => async (): Promise<boolean> =>
  (await countOf(db, `goal where id = '${goal}' and state = 'ready'`)) === 1

const leftRefs = (root: string): string => git(root, 'for-each-ref', '--format=%(refname)', 'refs/unstuck')

/** Each task is on the goal branch in exactly one commit, and the store says the same. */
const mergedOnce = async ({ db, root }: World, goal: string, count: number): Promise<void> => {
  const trailers = git(root, 'log', '--format=%(trailers:key=Unstuck-Task,valueonly)', `main..unstuck/goal/${goal}`)
  const onBranch = trailers.split('\n').filter((line) => line !== '')
  expect(onBranch).toHaveLength(count)
  expect(new Set(onBranch).size).toBe(count)
  expect(await countOf(db, `task where goal_id = '${goal}' and state = 'done'`)).toBe(count)
  expect(await countOf(db, `merge_entry where goal_id = '${goal}' and state = 'merged'`)).toBe(count)
  expect(leftRefs(root)).toBe('')
}

describe('two engines on one store', () => {
  it.runIf(isLongForm)(
    'one killed midway, one that slept past its leases: each task is merged exactly once',
    { timeout: deadlineMs + 60_000 },
    async () => {
      const world = await openWorld()
      const { db } = world
      const [a, b] = [await world.start('a'), await world.start('b')]
      const goal = await newGoal(a, tasks)
      const merged = (): Promise<number> => countOf(db, `merge_entry where state = 'merged'`)
      await waitFor('some tasks are merged', async () => (await merged()) >= tasks * 0.15)
      b.child.kill('SIGKILL')
      await waitFor('more tasks are merged', async () => (await merged()) >= tasks * 0.3)
      const b2 = await world.start('b')
      expect(b2.id).toBe(b.id)
      const leader = (await currentLeader(db)).engineId
      expect(leader).toBe(a.id)
      // The leader sleeps: its leases pass, and so does its lead.
      a.child.kill('SIGSTOP')
      await waitFor('another engine leads', async () => (await currentLeader(db)).engineId === b2.id)
      await waitFor('the sleeper is taken for dead', async () =>
        (await listEngines(db)).some(({ id, state }) => id === a.id && state === 'offline'),
      )
      a.child.kill('SIGCONT')
      await waitFor('the sleeper is in service again', async () =>
        (await listEngines(db)).some(({ id, state }) => id === a.id && state === 'online'),
      )
      await waitFor('the goal is ready', isReady(db, goal))
      // A sleeper that wakes up this late puts away what it still handed over, when it finds that nobody asks for it.
      await waitFor('no ref is left', async () => leftRefs(world.root) === '')
      await mergedOnce(world, goal, tasks)
      const expired = (await events(db, 'lease.expired')).map(({ payload }) => String(payload.evidence))
      for (const evidence of expired) expect(evidence).toMatch(/the lease expired \d+ s ago; .+/)
      expect((await events(db, 'engine.clock_jumped')).length).toBeGreaterThan(0)
      const doctor = await b2.call<{ ok: boolean; checks: object[] }>('GET', '/doctor')
      expect(doctor, JSON.stringify(doctor)).toMatchObject({ ok: true })
      console.log(`${tasks} tasks, ${expired.length} leases taken back, ${await countOf(db, 'run')} runs`)
    },
  )

  it.runIf(isLongForm)(
    'one that is killed between claim and verdict: the other claims the work again, and there is one verdict',
    async () => {
      const world = await openWorld({ maxParallel: 1, judge: { mode: 'llm', harness: 'reviewer', timeoutSeconds: 90 } })
      const { db, top } = world
      const engines = [await world.start('a'), await world.start('b')]
      writeFileSync(join(top, 'hold-review'), '')
      const goal = await newGoal(engines[0] as Engine, 1)
      const asked = (): number => readdirSync(top).filter((name) => name.startsWith('asked-')).length
      await waitFor('the reviewer is asked', async () => asked() === 1)
      const leader = (await currentLeader(db)).engineId
      const [judge, other] = engines.toSorted(({ id }) => (id === leader ? -1 : 1))
      judge?.child.kill('SIGKILL')
      await waitFor('the reviewer of the other one is asked', async () => asked() === 2)
      // Both answer now; that of the killed one has nobody who listens.
      rmSync(join(top, 'hold-review'))
      await waitFor('the goal is ready', isReady(db, goal))
      await mergedOnce(world, goal, 1)
      expect(await db.query(sql`select state, verdict, version, engine_id as engine from judgement`)).toEqual([
        { state: 'decided', verdict: 'approve', version: 2, engine: other?.id },
      ])
      expect((await events(db, 'judge.review')).map(({ payload }) => payload['verdict'])).toEqual(['approve'])
      expect(await countOf(db, `run where judgement_version = 2`)).toBe(1)
    },
  )

  it.runIf(isLongForm)('a run of one is ended by a word to the other', async () => {
    const world = await openWorld({ maxParallel: 1 })
    const [a, b] = [await world.start('a', 'control'), await world.start('b', 'executor')]
    writeFileSync(join(world.top, 'hold'), '')
    const goal = await newGoal(a, 1)
    await waitFor('it runs', async () => (await countOf(world.db, `run where phase = 'supervise'`)) === 1)
    expect(
      (await a.call<StatusView>('GET', '/status')).engines.map(({ id, roles, leads }) => [id, roles, leads]),
    ).toEqual([
      [a.id, ['control'], true],
      [b.id, ['executor'], false],
    ])
    await a.call('POST', `/goals/${goal}/cancel`)
    expect(await countOf(world.db, `run where state = 'cancelled'`)).toBe(1)
    expect(await countOf(world.db, `task where state = 'cancelled'`)).toBe(1)
    expect(await events(world.db, 'run.stop_asked')).toHaveLength(1)
  })

  it.runIf(isLongForm)(
    'one that drains ends what it has begun and claims nothing more; the other goes on',
    async () => {
      const world = await openWorld({ maxParallel: 1 })
      const [a, b] = [await world.start('a'), await world.start('b')]
      writeFileSync(join(world.top, 'hold'), '')
      const goal = await newGoal(a, 4)
      await waitFor('both are at work', async () => (await countOf(world.db, `run where phase = 'supervise'`)) === 2)
      expect(await b.call('POST', '/drain')).toEqual({ draining: true, running: 1 })
      expect(await b.call('GET', '/health')).toMatchObject({ draining: true })
      rmSync(join(world.top, 'hold'))
      if (b.child.exitCode === null) await once(b.child, 'exit')
      expect(b.child.exitCode).toBe(0)
      expect(await countOf(world.db, `run where agent_id like '${b.id}-%'`)).toBe(1)
      expect(await countOf(world.db, `run where agent_id like '${b.id}-%' and state = 'success'`)).toBe(1)
      await waitFor('the goal is ready', isReady(world.db, goal))
      await mergedOnce(world, goal, 4)
      expect((await listEngines(world.db)).find(({ id }) => id === b.id)?.state).toBe('offline')
    },
  )
  const overtaken = async (world: World) => {
    const [a, b] = [
      await world.start('a', 'control'),
      await world.start('b', 'executor', { CHAOS_POINT: 'commit-made', CHAOS_SIGNAL: 'SIGSTOP' }),
    ]
    const goal = await newGoal(a, 1)
    await waitFor('its run is taken back', async () => (await events(world.db, 'lease.expired')).length === 1)
    expect(leftRefs(world.root)).toMatch(/^refs\/unstuck\/runs\/r-\w+$/)
    return { b, goal }
  }

  it.runIf(isLongForm)('one that was overtaken at the hand-over drops its ref when it wakes up', async () => {
    const world = await openWorld({ maxParallel: 1 })
    const { b, goal } = await overtaken(world)
    // Its next run must not end the goal, which would drop the ref as well.
    writeFileSync(join(world.top, 'hold'), '')
    b.child.kill('SIGCONT')
    await waitFor('its ref is gone', async () => leftRefs(world.root) === '')
    expect(await countOf(world.db, `task where state = 'done'`)).toBe(0)
    rmSync(join(world.top, 'hold'))
    await waitFor('the goal is ready', isReady(world.db, goal))
    await mergedOnce(world, goal, 1)
  })

  it.runIf(isLongForm)('what one handed over before it died is gone when the goal is ready', async () => {
    const world = await openWorld({ maxParallel: 1 })
    const { b, goal } = await overtaken(world)
    b.child.kill('SIGKILL')
    await world.start('c', 'executor')
    await waitFor('the goal is ready', isReady(world.db, goal))
    await mergedOnce(world, goal, 1)
  })
  it.runIf(isLongForm)('what one killed after a merge had still to put away is gone when it leads again', async () => {
    const world = await openWorld({ maxParallel: 1 })
    const a = await world.start('a', '', { CHAOS_POINT: 'merge-recorded' })
    // The second task holds the goal open: its end would put everything away as well.
    const goal = await newGoal(a, 2, (number) => (number === 2 ? { after: ['1'] } : {}))
    await once(a.child, 'exit')
    expect(leftRefs(world.root)).toMatch(/^refs\/unstuck\/runs\/r-\w+$/)
    writeFileSync(join(world.top, 'hold'), '')
    await world.start('a')
    await waitFor('the ref is gone', async () => leftRefs(world.root) === '')
    expect(await countOf(world.db, `goal where id = '${goal}' and state = 'active'`)).toBe(1)
    rmSync(join(world.top, 'hold'))
    await waitFor('the goal is ready', isReady(world.db, goal))
    await mergedOnce(world, goal, 2)
  })
})

describe('work that did not pass, with two engines on one store', () => {
  /** One launch a run: what happens within a run has suites of its own. */
  const playbooks = { disabled: ['check-feedback', 'fresh-feedback'] }

  const rows = async <T>(db: Queryable, text: string): Promise<T[]> => db.query<T>({ text, values: [] })

  it(
    'one killed while a task waits, and one in the middle of a split: one requeue, one new task, nothing lost',
    { timeout: deadlineMs + 60_000 },
    async () => {
      const world = await openWorld({ maxParallel: 1, requeue: { failedSeconds: 1, blockedSeconds: 3 }, playbooks })
      const { db } = world
      const both = [await world.start('a'), await world.start('b')]
      const leader = async (): Promise<Engine> => {
        const { engineId } = await currentLeader(db)
        const found = both.find(({ id }) => id === engineId)
        if (found === undefined) throw new Error('no engine leads')
        return found
      }
      const kill = async ({ child }: Engine): Promise<void> => {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      const [a] = both as [Engine, Engine]
      const goal = await newGoal(a, 2, (number) => (number === 1 ? { instructions: 'FAILS-FIRST' } : { after: ['1'] }))
      const waits = `task where goal_id = '${goal}' and number = 1 and block_reason = 'needs_rework'`
      await waitFor('the first task waits', async () => (await countOf(db, waits)) === 1)
      const [stored] = await rows<{ retry_at: Date }>(db, `select retry_at from ${waits}`)
      const first = await leader()
      await kill(first)
      await waitFor('the other one starts it again', async () => (await events(db, 'task.requeued')).length > 0)
      const [requeued] = await rows<{ at: Date }>(db, `select at from event where type = 'task.requeued'`)
      expect(Number(requeued?.at)).toBeGreaterThanOrEqual(Number(stored?.retry_at))
      await db.transaction(async (tx) => {
        // The split stops at its last statement, which moves the dependent to the new task.
        await rows(tx, `select 1 from task where goal_id = '${goal}' and number = 2 for update`)
        both.push(await world.start(first.home.split('/').at(-1) ?? 'a'))
        await waitFor('the split has begun', async () => {
          const blocked = 'select 1 from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))'
          return (await rows(tx, blocked)).length > 0
        })
        await kill(both[first === both[0] ? 1 : 0] as Engine)
      })
      await waitFor('the goal is ready', isReady(db, goal))
      expect(await events(db, 'task.split')).toHaveLength(1)
      expect((await events(db, 'task.requeued')).map(({ payload }) => payload.reason)).toEqual([
        'needs_rework_in_place_retry',
      ])
      expect(await countOf(db, 'requeue')).toBe(1)
      const all = `select state, superseded_by is not null as continued from task where goal_id = '${goal}' order by number`
      expect(await rows(db, all)).toEqual([
        { state: 'cancelled', continued: true },
        { state: 'done', continued: false },
        { state: 'done', continued: false },
      ])
      await mergedOnce(world, goal, 2)
    },
  )
})
