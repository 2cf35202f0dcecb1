/** A store that is gone: no command begins an empty one by itself, and a person who wants that says so. */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Client } from 'pg'
import { afterEach, expect, inject, test } from 'vitest'
import { embeddedLocation } from '../../src/store/postgres-location.ts'
import { serverOf } from '../../src/store/server/embedded-server.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { runHere, type Ended } from '../cli/in-process.ts'
import { openScene, type Scene } from '../recovery/scene.ts'

let scene: Scene | undefined
afterEach(async () => {
  if (scene !== undefined) await runHere(['stop'], placeOf(scene))
  await scene?.clear()
  scene = undefined
})

const placeOf = ({ root, top }: Scene) => {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env
  return { cwd: root, environment: { PATH, HOME, XDG_CACHE_HOME, UNSTUCK_HOME: join(top, 'home') } }
}

const postgresOf = ({ top }: Scene): string => join(top, 'home', 'postgres')

/** Only that of this scene: others share the server. */
const dropSchema = async ({ top, root }: Scene): Promise<void> => {
  const { id } = await openRepository(root)
  const client = new Client({ connectionString: inject('server').url })
  await client.connect()
  const { schema } = embeddedLocation(serverOf({ home: join(top, 'home'), environment: {} }), id, 'unstuck')
  await client.query(`drop schema "${schema}" cascade`)
  await client.end()
}

const ways: [string, boolean, (here: Scene) => Promise<void> | void][] = [
  ['folder of the server was removed', true, (here) => rmSync(postgresOf(here), { recursive: true })],
  ['schema was dropped', false, dropSchema],
]

test('whose password file was removed is not lost', async () => {
  const here = await openScene({ command: { driver: 'command', program: '' } }, {}, { ownServer: true })
  scene = here
  await here.stop()
  const [password] = readdirSync(postgresOf(here), { recursive: true, encoding: 'utf8' }).filter(
    (path) => basename(path) === 'password',
  )
  rmSync(join(postgresOf(here), password ?? ''))
  expect(await runHere(['status'], placeOf(here))).toMatchObject({ exitCode: 0, stderr: '' })
  expect((await runHere(['store', 'new'], placeOf(here))).exitCode).toBe(2)
})

test.each(ways)('whose %s', async (_how, ownServer, lose) => {
  const made = `put('made.txt', 'made')`
  const here = await openScene({ command: { driver: 'command', program: made } }, {}, { ownServer })
  scene = here
  const goal = await here.goal([{}])
  await here.until(goal, 'ready')
  const cli = (...args: string[]): Promise<Ended> => runHere(args, placeOf(here))
  expect((await cli('store', 'new')).exitCode).toBe(2)
  await here.stop()
  await lose(here)
  // The engine of `up` writes to the standard error of this process.
  for (let time = 1; time <= 2; time += 1) expect((await cli('up')).exitCode).toBe(78)
  for (const args of [['run', 'x'], ['status']]) expect((await cli(...args)).stderr).toContain('unstuck store new')
  if (ownServer) expect(existsSync(postgresOf(here))).toBe(false)
  const begun = await cli('store', 'new')
  expect(begun).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`unstuck/goal/${goal}`) as string })
  expect((await cli('login-url')).exitCode).toBe(0)
  expect((await cli('status', '--json')).exitCode).toBe(0)
  expect(here.show('made.txt', goal)).toBe('made')
})
