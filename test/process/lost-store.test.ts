/** A store that is gone: no command begins an empty one by itself, and a person who wants that says so. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterEach, expect, inject, test } from 'vitest'
import type { SharedServer } from '../support/test-db.ts'
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

const dropStores = async (): Promise<void> => {
  const client = new Client({
    connectionString: inject('server' as never) && (inject('server' as never) as SharedServer).url,
  })
  await client.connect()
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace where nspname like 'unstuck%'`,
  )
  for (const { name } of rows) await client.query(`drop schema "${name}" cascade`)
  await client.end()
}

const ways: [string, boolean, (here: Scene) => Promise<void> | void][] = [
  ['folder of the server was removed', true, ({ top }) => rmSync(join(top, 'home', 'postgres'), { recursive: true })],
  ['schema was dropped', false, dropStores],
]

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
  if (ownServer) expect(existsSync(join(here.top, 'home', 'postgres'))).toBe(false)
  const begun = await cli('store', 'new')
  expect(begun).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`unstuck/goal/${goal}`) as string })
  expect((await cli('login-url')).exitCode).toBe(0)
  expect((await cli('status', '--json')).exitCode).toBe(0)
  expect(here.show('made.txt', goal)).toBe('made')
})
