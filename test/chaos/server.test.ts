/**
 * kill -9 of the embedded server, of one of its connections, of all of it, and of everything at once, while goals are in progress: the engine
 * continues or its successor does, nothing acknowledged is lost, and the server stops with the last engine. CHAOS_SERVER_ROUNDS and CHAOS_SEED
 * set the form; the long form is 300 rounds.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dice } from './plan.ts'
import { closeScene, finishRound, look, openScene, post, start, untilOver, type Scene } from './rounds.ts'
import { goals, hasEnded, makeTemplate, pollMs, until, type EngineProcess, type World } from './world.ts'

const rounds = Number(process.env.CHAOS_SERVER_ROUNDS ?? '1')
const seed = Number(process.env.CHAOS_SEED ?? '20261127')
const victims = ['postmaster', 'everything', 'backend', 'server'] as const
type Victim = (typeof victims)[number]

let template = ''
beforeAll(async () => {
  template = await makeTemplate()
})
afterAll(() => rmSync(template, { recursive: true, force: true }))

const pidFile = ({ environment }: World): string =>
  join(environment.UNSTUCK_HOME ?? '', 'postgres', '18', 'data', 'postmaster.pid')

const postmasterOf = (world: World): number | undefined =>
  existsSync(pidFile(world)) ? Number.parseInt(readFileSync(pidFile(world), 'utf8'), 10) || undefined : undefined

const childrenOf = (pid: number): number[] =>
  spawnSync('ps', ['-o', 'pid=,args=', '--ppid', String(pid)], { encoding: 'utf8' })
    .stdout.split('\n')
    .flatMap((line) => (line.includes('postgres: unstuck') ? [Number.parseInt(line, 10)] : []))

const allOf = (pid: number): number[] => {
  const children = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' }).stdout
  // Without children there is an empty line, and the process 0 would be this one with all its own.
  return [pid, ...children.split('\n').flatMap((line) => Number.parseInt(line, 10) || [])]
}

const kill = (pids: readonly number[]): void => {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended between the look and the kill.
    }
  }
}

/** Reads what the engine says for a random time. */
const watch = async (scene: Scene, engine: EngineProcess, random: () => number): Promise<void> => {
  for (const deadline = performance.now() + random() * 2_500; performance.now() < deadline; await delay(pollMs))
    if (!hasEnded(engine)) await look(scene)
}

/** Returns the engine that works after the kill. */
const strike = async (scene: Scene, engine: EngineProcess, victim: Victim, random: () => number) => {
  const pid = postmasterOf(scene.world)
  if (pid === undefined) return engine
  const backends = childrenOf(pid)
  if (victim === 'postmaster') kill([pid])
  if (victim === 'backend') kill(backends.slice(Math.floor(random() * backends.length)).slice(0, 1))
  if (victim === 'server') kill(allOf(pid))
  if (victim !== 'everything') return engine
  engine.child.kill('SIGKILL')
  kill(allOf(pid))
  await engine.ended
  return start(scene)
}

const play = async (victim: Victim, random: () => number): Promise<string[]> => {
  const scene = await openScene(template, { kind: 'question', firstStart: true })
  try {
    let engine = await start(scene)
    await until('the goal is taken', async () => (await post(scene, goals.question)) !== undefined)
    for (let strikes = 0; strikes < 2; strikes += 1) {
      await watch(scene, engine, random)
      engine = await strike(scene, engine, victim, random)
    }
    await untilOver(scene, engine)
    const found = await finishRound(scene, engine, false)
    return existsSync(pidFile(scene.world)) ? [...found, 'the server was left running'] : found
  } finally {
    const pid = postmasterOf(scene.world)
    await closeScene(scene)
    if (pid !== undefined) kill(allOf(pid))
  }
}

const list = Array.from(
  { length: rounds },
  (_value, index) => [index + 1, victims[index % victims.length] ?? 'server'] as const,
)

test.concurrent.each(list)('round %i, killed: %s', { timeout: 300_000 }, async (round, victim) => {
  expect(await play(victim, dice(seed + round))).toEqual([])
})
