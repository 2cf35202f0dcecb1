/**
 * A night of thirty tasks with three kills of the engine: twenty-six have a fault that passes or that their agent mends, four have one
 * that nobody can mend. Each ends right, nothing is lost or claimed, and the agents are called hardly more often than the faults need.
 * `SEED=7` chooses the moments of the kills.
 */
import type { ChildProcess } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { AgentFault, Job } from '../../../bench/autonomy/job.ts'
import { openScene, type FaultAgent, type Scene } from '../../recovery/scene.ts'
import { killable } from '../../support/killable.ts'
import { dice } from '../plan.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1_000_000))

interface Kind {
  fault: AgentFault
  /** How many tasks have it. */
  count: number
  /** The fewest launches after which such a task is done; absent = it can only be asked about. */
  least?: number
  more?: Partial<Job>
  /** More of its test file. */
  test?: string
}

const flaky = `import { appendFileSync, readFileSync } from 'node:fs'
test('the clock', () => {
  appendFileSync('TOP/outside/flaky', '.')
  assert.notEqual(readFileSync('TOP/outside/flaky', 'utf8').length % 3, 1)
})`

const kinds: Record<string, Kind> = {
  plain: { fault: 'none', count: 5, least: 1 },
  red: { fault: 'wrong first', count: 4, least: 2 },
  crash: { fault: 'crash once', count: 3, least: 2 },
  odd: { fault: 'unknown exit once', count: 2, least: 2 },
  hang: { fault: 'hang once', count: 2, least: 2 },
  overload: { fault: 'overload', count: 2, least: 2 },
  limit: { fault: 'limit', count: 2, least: 2 },
  later: { fault: 'not now once', count: 1, least: 2 },
  idle: { fault: 'nothing once', count: 2, least: 2 },
  flaky: { fault: 'none', count: 1, least: 1, test: flaky },
  stray: { fault: 'stray file', count: 1, least: 1, more: { file: 'scratch.md', told: 'scratch.md' } },
  server: { fault: 'leaves processes', count: 1, least: 1 },
  never: { fault: 'never right', count: 2 },
  dead: { fault: 'crash always', count: 1 },
  secret: { fault: 'stray file', count: 1, more: { file: '.env', told: 'no such words' } },
}

const names = Object.entries(kinds).flatMap(([kind, { count }]) =>
  Array.from({ length: count }, (_, at) => `${kind}${at + 1}`),
)
const kindOf = (name: string): Kind => kinds[name.replace(/\d+$/, '')] as Kind
const titleOf = (name: string): string => `Write the module ${name} now`
const moduleOf = (value: number): string => `export const answer = ${value}\n`

const jobOf = (name: string): Job => {
  const { fault, more } = kindOf(name)
  return {
    ...{ match: titleOf(name), fault, seconds: 5 },
    told: fault === 'wrong first' ? `the answer of ${name}` : 'no such words',
    right: [{ path: `src/${name}.mjs`, after: moduleOf(42) }],
    wrong: [{ path: `src/${name}.mjs`, after: moduleOf(41) }],
    ...more,
  }
}

const testOf = (name: string): string => `import assert from 'node:assert/strict'
import { test } from 'node:test'
${kindOf(name).test ?? ''}
test('the answer of ${name}', async () => {
  assert.equal((await import('../src/${name}.mjs')).answer, 42)
})
`

const agentFile = join(import.meta.dirname, '..', '..', '..', 'bench', 'autonomy', 'agent.ts')
const agent: FaultAgent = {
  driver: 'command',
  program: [process.execPath, agentFile, '--jobs', 'TOP/repo/jobs.json', '--memory', 'TOP/outside'],
}

const clocks = {
  maxParallel: 3,
  retry: { transientBaseSeconds: 1, transientMaxSeconds: 4, quotaBaseSeconds: 5, quotaMaxSeconds: 20 },
  stall: { silenceSeconds: 10, afterToolResultSeconds: 10, promptSeconds: 10, lingerSeconds: 5 },
}

let scene: Scene
const engines: ChildProcess[] = []
afterEach(() => scene.clear())

const launchesOf = (name: string): number => {
  const folder = join(scene.top, 'outside')
  const file = readdirSync(folder).find((each) => each === `Write-the-module-${name}-now.launches`)
  return readFileSync(join(folder, file ?? ''), 'utf8')
    .trim()
    .split('\n').length
}

test(`thirty tasks and three kills, seed ${seed}`, async () => {
  expect(names).toHaveLength(30)
  const jobs = JSON.stringify(names.map(jobOf))
  const tests = Object.fromEntries(names.map((name) => [`test/${name}.test.mjs`, testOf(name)]))
  const files = { ...tests, 'jobs.json': jobs }
  scene = await openScene({ agent }, clocks, { files, start: killable(engines) })
  const goal = await scene.goal(
    names.map((name, at) => ({
      ...{ title: titleOf(name), instructions: titleOf(name), commands: [`node --test test/${name}.test.mjs`] },
      ...{ allowedPaths: [`src/${name}.mjs`], after: name.startsWith('plain') && at > 1 ? [String(at)] : [] },
    })),
  )
  const random = dice(seed)
  for (let kill = 0; kill < 3; kill += 1) {
    await delay(4_000 + random() * 12_000)
    await scene.restart()
  }
  const ended = await scene.until(goal, 'awaiting_human', 'paused', 'ready', 'failed')
  const questions = (await scene.questions()).filter(({ state }) => state === 'pending')

  const wrong: string[] = []
  let [launches, least] = [0, 0]
  for (const [at, name] of names.entries()) {
    const kind = kindOf(name)
    const task = ended.tasks[at]
    const asked = questions.filter(({ taskId }) => taskId === task?.id).length
    const landed = (() => {
      try {
        return scene.show(`src/${name}.mjs`, goal)
      } catch {
        return undefined
      }
    })()
    const is = JSON.stringify({ status: task?.status, asked, landed: landed ?? null })
    const isRight =
      kind.least === undefined
        ? task?.status !== 'done' && asked === 1 && landed === undefined
        : task?.status === 'done' && asked === 0 && landed === moduleOf(42).trim()
    if (!isRight) wrong.push(`${name}: ${is}`)
    if (kind.least === undefined) continue
    launches += launchesOf(name)
    least += kind.least
  }
  process.stdout.write(`seed ${seed}: ${30 - wrong.length} of 30 right, ${launches} launches, at least ${least}\n`)
  expect(wrong).toEqual([])
  expect(launches).toBeLessThanOrEqual(1.2 * least)
})
