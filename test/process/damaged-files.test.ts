/** Small files of the state folder that a power failure or another program damaged: each is moved aside with an event, and work goes on. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { runHere, type Ended } from '../cli/in-process.ts'
import { openScene, type Scene } from '../recovery/scene.ts'
import { shortened } from '../support/form.ts'

let scene: Scene | undefined
afterEach(async () => {
  await scene?.clear()
  scene = undefined
})

const placeOf = ({ root, top }: Scene) => {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env
  return { cwd: root, environment: { PATH, HOME, XDG_CACHE_HOME, UNSTUCK_HOME: join(top, 'home') } }
}

const cli = (here: Scene, ...args: string[]): Promise<Ended> => runHere(args, placeOf(here))

const damage: Record<string, (path: string) => void> = {
  'bytes that are no text': (path) => writeFileSync(path, '\0\u0001{'),
  'a folder in its place': (path) => {
    rmSync(path)
    mkdirSync(path)
  },
}

const eventsOf = async (here: Scene): Promise<string> => (await cli(here, 'events')).stdout

/** Files that were moved aside, and that an event has reported. */
const reported = (stateDir: string): string[] =>
  readdirSync(join(stateDir, 'damaged')).filter((name) => !name.endsWith('.new'))

const open = async (): Promise<{ here: Scene; stateDir: string }> => {
  scene = await openScene({ command: { driver: 'command', program: `put('made.txt', 'made')` } })
  const goal = await scene.goal([{}])
  await scene.until(goal, 'ready')
  const { id } = await openRepository(scene.root)
  return { here: scene, stateDir: stateDirOf(placeOf(scene).environment, id) }
}

test.each(shortened(Object.entries(damage), 1))('the files of an engine that runs: %s', async (_kind, harm) => {
  const { here, stateDir } = await open()
  for (const name of ['engine.json', 'token']) {
    harm(join(stateDir, name))
    expect(await cli(here, 'status')).toMatchObject({ exitCode: 0, stderr: '' })
  }
  await expect.poll(() => reported(stateDir), { timeout: 60_000 }).toEqual(['engine.json.1', 'token.1'])
  expect(await eventsOf(here)).toMatch(/damaged\/engine\.json\.1[^]*damaged\/token\.1/)
})

test.each(shortened(Object.entries(damage), 1))('the files of an engine that starts: %s', async (_kind, harm) => {
  const { here, stateDir } = await open()
  const names = [
    'token',
    'run-key',
    'engine-id.json',
    'host-snapshot.json',
    'port.json',
    'sessions.json',
    'shadow.git/HEAD',
    'store.complete',
  ]
  await here.restart(() => names.forEach((name) => harm(join(stateDir, name))))
  const goal = await here.goal([{}])
  await here.until(goal, 'ready')
  await expect
    .poll(() => reported(stateDir), { timeout: 60_000 })
    .toEqual(expect.arrayContaining(['token.1', 'run-key.1', 'engine-id.json.1']))
  expect(await eventsOf(here)).toContain('damaged/token.1')
})
