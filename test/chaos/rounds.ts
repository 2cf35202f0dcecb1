/** One round: a world, a kill, a restart, the end of the goal, and what must hold then. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Goal, GoalRequest, Run, StatusView, EventView } from '../../src/api/contract.ts'
import { acknowledge, breachesOf, doubled, livingOf, nothingAcknowledged, type Acknowledged } from './invariants.ts'
import type { Round } from './plan.ts'
import {
  ask,
  commitByHand,
  engineLog,
  goals,
  hasEnded,
  makeWorld,
  pollMs,
  removeWorld,
  startEngineProcess,
  until,
  untilReady,
  type EngineProcess,
  type World,
} from './world.ts'

export interface Scene {
  world: World
  engines: EngineProcess[]
  seen: Acknowledged
}

export const openScene = async (template: string, options: Parameters<typeof makeWorld>[1]): Promise<Scene> => ({
  world: await makeWorld(template, options),
  engines: [],
  seen: nothingAcknowledged(),
})

export const closeScene = (scene: Scene): Promise<void> => removeWorld(scene.world, scene.engines)

export const start = async (scene: Scene, crash: Record<string, string> = {}): Promise<EngineProcess> => {
  const engine = startEngineProcess(scene.world, crash)
  scene.engines.push(engine)
  await untilReady(scene.world, engine)
  return engine
}

/** Posts a goal; undefined when the engine died before it answered. */
export const post = async (scene: Scene, request: GoalRequest): Promise<string | undefined> => {
  const goal = await ask<Goal>(scene.world, 'POST', '/goals', request)
  if (goal !== undefined) scene.seen.goals.add(goal.id)
  return goal?.id
}

/** Reads what is new and what must hold at every moment. */
export const look = async ({ world, seen }: Scene): Promise<StatusView | undefined> => {
  const last = Math.max(0, ...seen.events.keys())
  const events = await ask<EventView[]>(world, 'GET', `/events?after=${last}&limit=1000`)
  if (events !== undefined) acknowledge(seen, events)
  const runs = await ask<Run[]>(world, 'GET', '/runs')
  if (runs !== undefined) seen.breaches.push(...doubled(runs))
  const status = await ask<StatusView>(world, 'GET', '/status')
  const isUnderWay = status?.goals.some(({ tasks }) => tasks.some(({ place }) => place === 'done')) === true
  if (world.kind === 'moved' && isUnderWay && !existsSync(join(world.repo, 'by-hand.txt'))) commitByHand(world)
  return status
}

const over = (status: StatusView): boolean =>
  status.goals.every((goal) => {
    if (goal.state === 'ready') return !goal.autoMerge
    return ['done', 'failed', 'cancelled', 'paused', 'awaiting_human'].includes(goal.state)
  })

/** Until every goal has ended or waits for a person. */
export const untilOver = (scene: Scene, engine: EngineProcess): Promise<void> =>
  until(
    'the goal ends or waits for a person',
    async () => {
      if (hasEnded(engine))
        throw new Error(`the engine ended by itself: ${readFileSync(engineLog(scene.world), 'utf8').slice(-2000)}`)
      const status = await look(scene)
      return status !== undefined && status.goals.length > 0 && over(status)
    },
    180,
  )

/** Until the engine has died by SIGKILL at its point. Ending without it means that the point was not reached. */
const untilKilled = async (scene: Scene, engine: EngineProcess): Promise<void> => {
  await until(
    'the crash point is reached',
    async () => {
      if (hasEnded(engine)) return true
      const status = await look(scene)
      if (
        status !== undefined &&
        status.goals.length > 0 &&
        over(status) &&
        scene.seen.goals.size === status.goals.length &&
        !hasEnded(engine)
      ) {
        await delay(2_000)
        if (!hasEnded(engine)) throw new Error('the goal ended and the crash point was not reached')
      }
      return false
    },
    180,
  )
  const { signal } = await engine.ended
  if (signal !== 'SIGKILL')
    throw new Error(`the engine ended otherwise: ${readFileSync(engineLog(scene.world), 'utf8').slice(-2000)}`)
}

/** A goal that was committed but not acknowledged is there; one that was not even committed is posted again. */
const postIfMissing = async (scene: Scene, request: GoalRequest, wanted: number): Promise<void> => {
  const status = await ask<StatusView>(scene.world, 'GET', '/status')
  if (status !== undefined && status.goals.length < wanted) await post(scene, request)
}

/** Stops the engine in order, and says what is wrong in the end. */
export const finishRound = async (scene: Scene, engine: EngineProcess, exact: boolean): Promise<string[]> => {
  const breaches = await breachesOf(scene.world, { seen: scene.seen, exact })
  await ask(scene.world, 'POST', '/shutdown')
  const { code } = await engine.ended
  if (code !== 0) breaches.push(`the engine did not stop in order (status ${code})`)
  await until('all processes of the world end', () => livingOf(scene.world).length === 0, 15).catch(() => undefined)
  return [...breaches, ...livingOf(scene.world).map((what) => `left behind: ${what}`)]
}

const killAtPoints = async (scene: Scene, round: Round, before: () => Promise<void>): Promise<void> => {
  if (!('points' in round.kill)) return
  const wanted = round.real === null ? 1 : 2
  for (const [index, { point, pass }] of round.kill.points.entries()) {
    const mark = join(scene.world.root, `killed-${index}`)
    const arm = join(scene.world.root, `armed-${index}`)
    // A later engine continues at once what the one before it had begun, and may be past the point when it is ready.
    if (index > 0) writeFileSync(arm, '')
    const engine = await start(scene, {
      CHAOS_POINT: point,
      CHAOS_PASS: String(pass),
      CHAOS_MARK: mark,
      CHAOS_ARM: arm,
    })
    if (index === 0) {
      await before()
      writeFileSync(arm, '')
      await post(scene, goals[round.kind])
    } else await postIfMissing(scene, goals[round.kind], wanted)
    await untilKilled(scene, engine)
    if (!existsSync(mark) || readFileSync(mark, 'utf8') !== point)
      throw new Error(`the engine was not killed at ${point}`)
  }
}

const killAtRandom = async (scene: Scene, round: Round, before: () => Promise<void>): Promise<void> => {
  if (!('delaysMs' in round.kill)) return
  const already = round.real === null ? 0 : 1
  for (const [index, ms] of round.kill.delaysMs.entries()) {
    // The first engine is given time to be there, so that the moments fall into work; later ones may die while starting.
    const engine = index === 0 ? await start(scene) : startEngineProcess(scene.world)
    if (index > 0) scene.engines.push(engine)
    else await before()
    const dead = delay(ms).then(() => engine.child.kill('SIGKILL'))
    if (index === 0) await post(scene, goals[round.kind])
    while (!hasEnded(engine)) {
      if ((await look(scene)) !== undefined && index > 0) await postIfMissing(scene, goals[round.kind], already + 1)
      await delay(pollMs)
    }
    await dead
  }
}

export interface Real {
  /** Starts the real CLI and returns when it is in the middle of its tool call. */
  begin(scene: Scene): Promise<void>
  /** After the restart: checks that the same process is at work, and lets the tool call end. */
  release(scene: Scene): Promise<string[]>
}

/** Plays a round and gives its breaches. */
export const playRound = async (scene: Scene, round: Round, real: Real | undefined): Promise<string[]> => {
  const before = async (): Promise<void> => real?.begin(scene)
  await killAtPoints(scene, round, before)
  await killAtRandom(scene, round, before)
  const engine = await start(scene)
  await postIfMissing(scene, goals[round.kind], real === undefined ? 1 : 2)
  const found = (await real?.release(scene)) ?? []
  await untilOver(scene, engine)
  return [...found, ...(await finishRound(scene, engine, true))]
}
