/** Deaths that are not at a crash point: of the shim, of the engine for good, of engine and parent, in the first start, in a cancel. */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Goal, Run } from '../../src/api/contract.ts'
import { livenessOf, processesWithEnvironment, type ProcessIdentity } from '../../src/platform/process.ts'
import { launchState, openGate, startShim, touchKeepAlive, waitForExit } from '../../src/process/shim-client.ts'
import { sql } from '../../src/store/db.ts'
import { openStore } from '../../src/store/open.ts'
import { storedEvents, livingOf } from './invariants.ts'
import { dice, settingsOf } from './plan.ts'
import { closeScene, finishRound, look, openScene, post, start, untilOver, type Scene } from './rounds.ts'
import {
  ask,
  goalFor,
  hasEnded,
  makeTemplate,
  must,
  notesOf,
  startEngineProcess,
  startProgram,
  until,
  untilReady,
  type EngineProcess,
} from './world.ts'
import { isLongForm, shortened } from '../support/form.ts'

let template = ''
let scene: Scene | undefined

beforeAll(async () => {
  template = await makeTemplate()
})
afterAll(() => rmSync(template, { recursive: true, force: true }))
afterEach(async () => {
  if (scene !== undefined) await closeScene(scene)
  scene = undefined
})

const open = async (options: Partial<Parameters<typeof openScene>[1]> = {}): Promise<Scene> => {
  scene = await openScene(template, { kind: 'question', ...options })
  return scene
}

const kill = async (engine: EngineProcess): Promise<void> => {
  engine.child.kill('SIGKILL')
  await engine.ended
}

const release = ({ world }: Scene): void => writeFileSync(join(world.root, 'release'), '')

/** Until an agent noted this in the ledger; gives its run. */
const noted = async (here: Scene, event: string): Promise<string> => {
  await until(`an agent notes "${event}"`, () => notesOf(here.world).some((note) => note.event === event))
  return notesOf(here.world).findLast((note) => note.event === event)!.run
}

const launchDir = (here: Scene, run: string, number = 1): string =>
  join(here.world.stateDir, 'runs', run, 'launches', String(number))
const runsOf = (here: Scene): Promise<Run[]> => must<Run[]>(here.world, '/runs')
const shimOf = (dir: string): ProcessIdentity =>
  JSON.parse(readFileSync(join(dir, 'identity.json'), 'utf8')) as ProcessIdentity

test('an agent whose engine never returns ends by itself, and its task is tried again', async () => {
  const here = await open({ ttlSeconds: 5 })
  const first = await start(here)
  await post(here, goalFor('hold'))
  const run = await noted(here, 'start')
  await kill(first)
  await until('nothing of the world is left', () => livingOf(here.world).length === 0)
  expect(launchState(launchDir(here, run))).toMatchObject({ state: 'ended', exit: { cause: 'abandoned' } })
  release(here)
  const second = await start(here)
  await untilOver(here, second)
  expect((await runsOf(here)).map(({ state }) => state)).toEqual(['cancelled', 'success'])
  expect(await finishRound(here, second, false)).toEqual([])
})

test.runIf(isLongForm)(
  'a goal that is paused while its gate opens, and an engine killed before it noted that: the agent is not left behind',
  async () => {
    const here = await open()
    const mark = join(here.world.root, 'killed')
    const first = await start(here, {
      CHAOS_POINT: 'gate-open',
      CHAOS_PASS: '1',
      CHAOS_MARK: mark,
      CHAOS_ARM: template,
    })
    await post(here, goalFor('hold'))
    const run = await noted(here, 'start')
    await first.ended
    expect(existsSync(mark)).toBe(true)
    const store = await openStore({ stateDir: here.world.stateDir, environment: here.world.environment })
    await store.query(sql`update goal set state = 'paused', version = version + 1`)
    await store.close()
    const second = await start(here)
    await until('the agent is taken up', async () => (await runsOf(here)).some(({ phase }) => phase === 'supervise'))
    expect(livingOf(here.world).length).toBeGreaterThan(0)
    release(here)
    await ask(here.world, 'POST', '/resume', { goal: null })
    await untilOver(here, second)
    expect((await runsOf(here)).map(({ id, state }) => [id, state])).toEqual([[run, 'success']])
    expect(notesOf(here.world).filter(({ event }) => event === 'start')).toHaveLength(1)
    expect(await finishRound(here, second, false)).toEqual([])
  },
)

test.runIf(isLongForm)('an agent that ended while no engine was there is settled from its files', async () => {
  const here = await open()
  const first = await start(here)
  await post(here, goalFor('hold'))
  const run = await noted(here, 'start')
  await kill(first)
  release(here)
  expect((await waitForExit(launchDir(here, run), { deadlineMs: 60_000 })).state).toBe('ended')
  const second = await start(here)
  await untilOver(here, second)
  expect((await runsOf(here)).map(({ state, launches }) => [state, launches.length])).toEqual([['success', 1]])
  expect(notesOf(here.world).filter(({ event }) => event === 'start')).toHaveLength(1)
  expect(await finishRound(here, second, false)).toEqual([])
})

test.runIf(isLongForm)('kills in the very first start leave a store that opens', async () => {
  const here = await open({ firstStart: true })
  const roll = dice(settingsOf(process.env).seed + 2)
  for (let kills = 0; kills < 4; kills += 1) {
    const engine = startEngineProcess(here.world)
    here.engines.push(engine)
    await delay(300 + Math.floor(roll() * 2_500))
    await kill(engine)
  }
  const engine = await start(here)
  await post(here, goalFor('alpha'))
  await untilOver(here, engine)
  expect(await finishRound(here, engine, true)).toEqual([])
})

test('a killed shim takes its agent with it and the task is tried again', async () => {
  const here = await open()
  const engine = await start(here)
  await post(here, goalFor('hold'))
  const run = await noted(here, 'start')
  process.kill(shimOf(launchDir(here, run)).pid, 'SIGKILL')
  await until('a second agent starts', () => notesOf(here.world).filter(({ event }) => event === 'start').length === 2)
  expect(processesWithEnvironment('UNSTUCK_RUN', run)).toEqual([])
  release(here)
  await untilOver(here, engine)
  expect((await runsOf(here)).map(({ state, epoch }) => [state, epoch])).toEqual([
    ['cancelled', 1],
    ['success', 2],
  ])
  expect(await finishRound(here, engine, false)).toEqual([])
})

test.runIf(isLongForm)('a shim that is killed while no engine is there leaves no agent and no stuck task', async () => {
  const here = await open()
  const first = await start(here)
  await post(here, goalFor('hold'))
  const run = await noted(here, 'start')
  await kill(first)
  process.kill(shimOf(launchDir(here, run)).pid, 'SIGKILL')
  const second = await start(here)
  await until('a second agent starts', () => notesOf(here.world).filter(({ event }) => event === 'start').length === 2)
  expect(processesWithEnvironment('UNSTUCK_RUN', run)).toEqual([])
  release(here)
  await untilOver(here, second)
  expect(await finishRound(here, second, false)).toEqual([])
})

test.runIf(isLongForm)(
  'a correction whose launch was lost is given again and not counted as without effect',
  async () => {
    const here = await open()
    const engine = await start(here)
    await post(here, goalFor('grant'))
    const run = await noted(here, 'granted')
    process.kill(shimOf(launchDir(here, run, 2)).pid, 'SIGKILL')
    await until(
      'the directory is granted again',
      () => notesOf(here.world).filter(({ event }) => event === 'granted').length === 2,
    )
    release(here)
    await untilOver(here, engine)
    expect(await finishRound(here, engine, false)).toEqual([])
  },
)

test('engine and parent killed together: the next "up" takes the agent over', async () => {
  const here = await open()
  const cli = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'bin', 'unstuck.js')
  const up = async (): Promise<EngineProcess> => {
    const parent = startProgram(here.world, [cli, 'up'])
    here.engines.push(parent)
    await untilReady(here.world, parent)
    return parent
  }
  const first = await up()
  await post(here, goalFor('hold'))
  await noted(here, 'start')
  const { pid } = await must<{ pid: number }>(here.world, '/health')
  await kill(first)
  process.kill(pid, 'SIGKILL')
  const second = await up()
  release(here)
  await untilOver(here, second)
  expect(notesOf(here.world).filter(({ event }) => event === 'start')).toHaveLength(1)
  expect(await finishRound(here, second, false)).toEqual([])
})

test('a killed engine is started again by its parent', async () => {
  const here = await open()
  const cli = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'bin', 'unstuck.js')
  const parent = startProgram(here.world, [cli, 'up'])
  here.engines.push(parent)
  await untilReady(here.world, parent)
  await post(here, goalFor('hold'))
  await noted(here, 'start')
  const { pid } = await must<{ pid: number }>(here.world, '/health')
  process.kill(pid, 'SIGKILL')
  await until(
    'another engine answers',
    async () => ((await ask<{ pid: number }>(here.world, 'GET', '/health'))?.pid ?? pid) !== pid,
  )
  release(here)
  await untilOver(here, parent)
  expect(notesOf(here.world).filter(({ event }) => event === 'start')).toHaveLength(1)
  expect(await finishRound(here, parent, false)).toEqual([])
})

test.runIf(isLongForm)('a second engine is refused while the first one lives, and changes nothing', async () => {
  const here = await open()
  const engine = await start(here)
  await post(here, goalFor('alpha'))
  await look(here)
  const second = startEngineProcess(here.world)
  here.engines.push(second)
  await until('the second engine is refused', () => hasEnded(second))
  expect(second.child.exitCode).not.toBe(0)
  expect(readFileSync(join(here.world.root, 'daemon.log'), 'utf8')).toContain(`process ${engine.child.pid}`)
  await untilOver(here, engine)
  expect((await storedEvents(here.world)).filter(({ type }) => type === 'engine.started')).toHaveLength(1)
  expect(await finishRound(here, engine, true)).toEqual([])
})

test.each(shortened(['goals', 'tasks'], 1))(
  'a cancel that a crash cut short is finished by the next engine (%s)',
  async (kind) => {
    const here = await open()
    const first = await start(here)
    const goal = await post(here, goalFor('stubborn', 'alpha'))
    const run = await noted(here, 'start')
    const task = (await runsOf(here))[0]!.taskId
    const answer = ask<Goal>(here.world, 'POST', `/${kind}/${kind === 'goals' ? goal : task}/cancel`)
    await until('the agent is asked to stop', () => existsSync(join(launchDir(here, run), 'stop.json')))
    await kill(first)
    expect(await answer).toBeUndefined()
    const second = await start(here)
    // The goal ends in the pass after its last task did.
    const over = new Set(['cancelled', 'failed'])
    await until('every task is cancelled and the goal has ended', async () => {
      const status = await look(here)
      return (
        status?.goals.every(
          ({ state, tasks }) => over.has(state) && tasks.every(({ place }) => place === 'cancelled'),
        ) === true
      )
    })
    expect(await finishRound(here, second, false)).toEqual([])
  },
)

test('a launch folder that was begun again belongs to one shim only', async () => {
  const root = mkdtempSync(join(tmpdir(), 'unstuck-chaos-shim-'))
  const dir = join(root, 'launch')
  const ledger = join(root, 'ran')
  const argv = [process.execPath, '-e', `require('fs').appendFileSync(${JSON.stringify(ledger)}, 'ran\\n')`]
  const spec = {
    marker: 'chaos-shim',
    argv,
    cwd: root,
    stdinFile: null,
    limitMs: 60_000,
    keepAliveMs: 60_000,
    graceMs: 1_000,
    lineMaxBytes: 1_000,
    logMaxBytes: 100_000,
  }
  const environment = { PATH: process.env.PATH ?? '' }
  try {
    const old = await startShim(dir, spec, environment)
    rmSync(dir, { recursive: true })
    const own = await startShim(dir, spec, environment)
    touchKeepAlive(dir)
    openGate(dir)
    expect(await waitForExit(dir, { deadlineMs: 30_000 })).toMatchObject({ state: 'ended', exit: { code: 0 } })
    await until('both shims are gone', () => [old, own].every(({ identity }) => livenessOf(identity) === 'dead'), 30)
    expect(readFileSync(ledger, 'utf8')).toBe('ran\n')
    expect(readdirSync(dir).filter((name) => name === 'exit.json')).toHaveLength(1)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})
