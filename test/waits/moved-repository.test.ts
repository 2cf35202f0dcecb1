/** The folder of the repository is moved while a run is in progress: the run waits, and continues where the repository is then. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { serve } from '../../src/api/serve.ts'
import { runHere, type Ended } from '../cli/in-process.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

/** It ends when the test says so. */
const agents: Record<string, FaultAgent> = {
  a: {
    driver: 'command',
    program: `
count('TOP/starts')
const waiting = setInterval(() => {
  if (!existsSync('TOP/go')) return
  clearInterval(waiting)
  put('made.txt', 'made')
}, 50)`,
  },
}

let scene: Scene
afterEach(() => scene.clear())

const starts = (): string => readFileSync(join(scene.top, 'starts'), 'utf8')
const log = (): string =>
  readdirSync(join(scene.top, 'home'))
    .map((name) => join(scene.top, 'home', name, 'engine.log'))
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'utf8'))
    .join('')
const git = (root: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()

const cli = (cwd: string, ...args: string[]): Promise<Ended> => {
  const { PATH, HOME } = process.env
  return runHere(args, { cwd, environment: { PATH, HOME, UNSTUCK_HOME: join(scene.top, 'home') } })
}

const agentStarted = (): Promise<true> =>
  scene.waitFor('the agent has started', async () => existsSync(join(scene.top, 'starts')) || undefined)

test('a folder that is back after a moment costs no attempt', async () => {
  scene = await openScene(agents)
  const goal = await scene.goal([{}])
  await agentStarted()
  const away = join(scene.top, 'away')
  renameSync(scene.root, away)
  writeFileSync(join(scene.top, 'go'), '')
  // The agent ends without the repository, and its work cannot be read.
  const [run] = await scene.runs(goal)
  await scene.waitFor('the run waits', async () => log().includes('the run waits for it') || undefined)
  renameSync(away, scene.root)
  await scene.until(goal, 'ready', 'awaiting_human')
  expect((await scene.runs(goal)).map(({ id, state }) => [id, state])).toEqual([[run?.id, 'success']])
  expect([starts(), await scene.recoveries(goal)]).toEqual(['1', []])
})

test('the engine of a folder that stays away ends, and one at its new place continues the same run', async () => {
  const place: { root?: string; ended?: Promise<void> } = {}
  scene = await openScene(
    agents,
    {},
    {
      start: async (root, environment) => {
        const served = await serve({ root: place.root ?? root, environment, version: '0.0.0' })
        place.ended = served.stopped
        return served
      },
    },
  )
  const goal = await scene.goal([{}])
  await agentStarted()
  place.root = join(scene.top, 'renamed')
  renameSync(scene.root, place.root)
  await place.ended
  const seen = await cli(place.root, 'status')
  expect([seen.exitCode, seen.stdout]).toEqual([0, expect.stringContaining(goal)])
  await scene.restart()
  writeFileSync(join(scene.top, 'go'), '')
  await scene.until(goal, 'ready', 'awaiting_human')
  expect((await scene.runs(goal)).map(({ state }) => state)).toEqual(['success'])
  expect([starts(), git(place.root, 'show', `unstuck/goal/${goal}:made.txt`)]).toEqual(['1', 'made'])
  // Between two sessions, and what is made at the old path has nothing of it.
  await scene.stop()
  const third = join(scene.top, 'third')
  renameSync(place.root, third)
  expect((await cli(third, 'status')).stdout).toContain(goal)
  execFileSync('git', ['init', '-q', scene.root])
  git(scene.root, '-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '-q', '--allow-empty', '-m', 'Start')
  expect(await cli(scene.root, 'status')).toMatchObject({ exitCode: 4 })
})
