/**
 * kill -9 of the engine at every named crash point and at random moments, then a restart: nothing acknowledged is lost,
 * nothing runs or lands twice, nothing is left behind. CHAOS_ROUNDS, CHAOS_RANDOM, CHAOS_KILLS, CHAOS_SEED, CHAOS_REAL_EVERY and
 * CHAOS_STORE=postgres set the form; the log ends with a table of point, rounds and seed.
 */
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer, type Server } from '../support/server.ts'
import { pointRounds, randomRounds, settingsOf, type Round } from './plan.ts'
import { closeScene, openScene, playRound } from './rounds.ts'
import { realCli } from './real.ts'
import { makeTemplate } from './world.ts'

const settings = settingsOf(process.env)
const counts = new Map<string, { passed: number; failed: number }>()
let template = ''
let server: Server | undefined

beforeAll(async () => {
  template = await makeTemplate()
  if (settings.store === 'postgres') server = await startServer()
})

afterAll(async () => {
  await server?.clear()
  rmSync(template, { recursive: true, force: true })
  const rows = [...counts].map(
    ([point, { passed, failed }]) => `${point.padEnd(20)} x ${String(passed + failed).padStart(2)}   failed ${failed}`,
  )
  process.stdout.write(
    `\nchaos, ${settings.store} store, seed ${settings.seed}, a real CLI in every ${settings.realEvery}th round\n${rows.join('\n')}\n`,
  )
})

const play = async (round: Round): Promise<void> => {
  const real = round.real === null ? undefined : await realCli(round.real)
  const scene = await openScene(template, {
    kind: round.kind,
    ...(real === undefined ? {} : { harness: real.harness, maxParallel: 4 }),
    environment: {
      ...real?.environment,
      // Each world's repository has a schema of its own.
      ...(server === undefined ? {} : { UNSTUCK_DATABASE_URL: server.url }),
    },
    firstStart: server !== undefined,
  })
  const keys = 'points' in round.kill ? round.kill.points.map(({ point }) => point) : ['random']
  const counted = keys.map((key) => {
    const count = counts.get(key) ?? { passed: 0, failed: 0 }
    counts.set(key, count)
    return count
  })
  for (const count of counted) count.failed += 1
  try {
    expect(await playRound(scene, round, real)).toEqual([])
    for (const count of counted) {
      count.failed -= 1
      count.passed += 1
    }
  } finally {
    await real?.close()
    await closeScene(scene)
  }
}

const [atPoints, atRandom] = [pointRounds(settings), randomRounds(settings)]

// A form may leave one of the two out, and vitest takes a suite without tests for a failure.
describe.runIf(atPoints.length > 0)('the engine is killed at a crash point', () => {
  test.concurrent.each(atPoints)('$name', play, 300_000)
})

describe.runIf(atRandom.length > 0)('the engine is killed at random moments', () => {
  test.concurrent.each(atRandom)('$name', play, 300_000)
})
