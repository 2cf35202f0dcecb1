/** A store that is gone: no command begins an empty one by itself, and a person who wants that says so. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Client } from 'pg'
import { afterEach, expect, inject, test } from 'vitest'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { embeddedLocation } from '../../src/store/postgres-location.ts'
import { serverOf } from '../../src/store/server/embedded-server.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { runHere, type Ended } from '../cli/in-process.ts'
import { openScene, type Scene } from '../recovery/scene.ts'
import { shortened } from '../support/form.ts'

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
  const { schema } = embeddedLocation(serverOf({ home: join(top, 'home'), environment: {} }), id, 'unstuck')
  const drop = async (): Promise<boolean> => {
    const client = new Client({ connectionString: inject('server').url })
    client.on('error', () => undefined) // told by the query
    try {
      await client.connect()
      await client.query(`drop schema if exists "${schema}" cascade`)
      return true
    } catch (error) {
      // An engine of a test beside this one ends connections that are no engine’s (src/api/watch-connections.ts).
      if ((error as { code?: string }).code === '57P01') return false
      throw error
    } finally {
      await client.end().catch(() => undefined) // it was ended
    }
  }
  await expect.poll(drop, { timeout: 60_000 }).toBe(true)
}

const stateDirOfScene = async (here: Scene): Promise<string> =>
  stateDirOf(placeOf(here).environment, (await openRepository(here.root)).id)

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

test.each(shortened(ways, 1))('whose %s', async (_how, ownServer, lose) => {
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

test.each<[string, boolean, (here: Scene) => Promise<void>]>(
  shortened(
    [
      ['the store', false, dropSchema],
      [
        'all that Unstuck knew',
        true,
        async (here) => {
          await dropSchema(here)
          rmSync(await stateDirOfScene(here), { recursive: true })
        },
      ],
    ],
    1,
  ),
)(
  'rebuild where %s is gone: the work of goal branches is checked again, and the rest is named',
  async (_what, isAll, lose) => {
    const here = await openScene(
      {
        command: { driver: 'command', program: `put('made.txt', 'made')` },
        broken: { driver: 'command', program: 'process.exit(9)' },
      },
      {},
    )
    scene = here
    const goal = await here.goal([{ title: 'is done' }, { title: 'stays undone', harness: 'broken' }])
    const exported = join(here.root, '.unstuck', 'loops', goal, 'events.jsonl')
    await expect
      .poll(() => existsSync(exported) && readFileSync(exported, 'utf8').includes('"task.done"'), { timeout: 60_000 })
      .toBe(true)
    const cli = (...args: string[]): Promise<Ended> => runHere(args, placeOf(here))
    await here.stop()
    await lose(here)
    // Nothing begins in silence beside branches of which no store knows.
    if (isAll) expect((await cli('run', '--detach', 'more')).stderr).toContain(`unstuck/goal/${goal}`)
    const rebuilt = await cli('store', 'rebuild')
    expect(rebuilt).toMatchObject({ exitCode: 0 })
    expect(rebuilt.stdout).toContain(`unstuck/goal/${goal} is checked again`)
    expect(rebuilt.stdout).toContain('stays undone')
    expect(rebuilt.stdout).not.toContain('is done\n')
    const [taken = ''] = /g-[a-z0-9]{8}(?=:)/.exec(rebuilt.stdout) ?? []
    expect(taken).not.toBe(goal)
    await expect.poll(async () => (await cli('status')).stdout, { timeout: 120_000 }).toContain(`unstuck land ${taken}`)
    expect(here.show('made.txt', taken)).toBe('made')
    // It is taken over once.
    expect((await cli('store', 'rebuild')).stdout).not.toContain('is checked again')
    expect(await cli('land', taken)).toMatchObject({ exitCode: 0 })
  },
)
