/** Commands that only read, without an engine: they show what the engine would, write nothing and start nothing. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openReader, type Reader } from '../../src/api/reader.ts'
import { serve, type Served } from '../../src/api/serve.ts'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { sql, type Db } from '../../src/store/db.ts'
import { migrations } from '../../src/store/migrate.ts'
import { openForReading, openStore } from '../../src/store/open.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { openScene, type Scene } from '../recovery/scene.ts'
import { shortened } from '../support/form.ts'

const entry = fileURLToPath(new URL('../../bin/unstuck.js', import.meta.url))

let scene: Scene
let served: Served
let goal: string
let home: string
let stateDir: string
/** Of programs that a person starts. */
let environment: Record<string, string | undefined>
const live = new Map<string, unknown>()

beforeAll(async () => {
  const start = async (root: string, environment: Record<string, string | undefined>) =>
    (served = await serve({ root, environment, version: '0.0.0' }))
  scene = await openScene(
    { maker: { driver: 'command', program: `put('made.txt', 'made'); console.log('hello')` } },
    {},
    { start },
  )
  home = join(scene.top, 'home')
  environment = { PATH: process.env['PATH'], HOME: process.env['HOME'], UNSTUCK_HOME: home }
  stateDir = stateDirOf({ UNSTUCK_HOME: home }, (await openRepository(scene.root)).id)
  goal = await scene.goal([{ harness: 'maker' }])
  await scene.until(goal, 'ready')
  const [run] = await scene.runs(goal)
  const paths = [
    `/goals/${goal}`,
    '/tasks',
    '/runs?limit=1',
    `/runs/${run?.id}/log`,
    `/explain/${goal}`,
    '/events?limit=5',
  ]
  for (const path of paths) live.set(path, await scene.get(path))
  await served.stop()
})
afterAll(async () => scene?.clear())

/** Every program of this user that works with the state of this test: engines, their parents and their stores. */
const programs = (): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/environ`, 'utf8').includes(`UNSTUCK_HOME=${home}\0`)
      } catch {
        return false // it ended, or is another user's
      }
    })

const cli = async (...args: string[]): Promise<{ code: number; output: string }> => {
  const child = spawn(process.execPath, [entry, ...args], {
    cwd: scene.root,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}

const tablesOf = (db: Db): Promise<{ name: string }[]> =>
  db.query<{ name: string }>(
    sql`select tablename as name from pg_tables where schemaname = current_schema() order by 1`,
  )

const digests = async (): Promise<unknown[]> => {
  const { db } = await openForReading({ stateDir, environment })
  try {
    const found: unknown[] = []
    for (const { name } of await tablesOf(db)) {
      const text = `select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as digest from "${name}" t`
      found.push([name, await db.query({ text, values: [] })])
    }
    return found
  } finally {
    await db.close()
  }
}

const reader = async (): Promise<Reader> =>
  openReader({
    repository: await openRepository(scene.root),
    stateDir,
    environment,
    version: '0.0.0',
  })

it('show what the store holds, at the same time, write nothing and leave no process', async () => {
  const before = await digests()
  const [status, events] = await Promise.all([cli('status'), cli('events')])
  expect(status).toMatchObject({ code: 0, output: expect.stringContaining(goal) })
  expect(events).toMatchObject({ code: 0, output: expect.stringContaining('the engine shut down') })
  expect(programs()).toEqual([])
  expect(existsSync(join(stateDir, 'engine.json'))).toBe(false)
  expect(await digests()).toEqual(before)
})

it('of `clean --dry-run` name what would be removed, and remove nothing', async () => {
  const folder = join(stateDir, 'runs')
  const [run = ''] = readdirSync(folder)
  const before = await digests()
  const { code, output } = await cli('clean', '--dry-run', '--json')
  expect([code, JSON.parse(output)]).toEqual([0, [expect.objectContaining({ kind: 'workspace', id: run })]])
  expect(programs()).toEqual([])
  expect(existsSync(join(folder, run, 'workspace'))).toBe(true)
  expect(await digests()).toEqual(before)
})

it.each(
  shortened(
    [
      ['retry', 't-nothing', '--hint', 'x'],
      ['cancel', 'g-nothing'],
      ['land', 'g-nothing'],
      ['resume', 'g-nothing'],
      ['answer', 't-nothing', 'retry'],
      ['edit', 't-nothing', '--text', 'x'],
    ],
    1,
  ),
)('start no engine for a mistake in an id: %s %s', async (...args) => {
  const { code, output } = await cli(...args)
  expect([code, output.includes(args[1] ?? '')]).toEqual([4, true])
  expect(programs()).toEqual([])
})

it('say what the engine said', async () => {
  const { url, token, send, close } = await reader()
  try {
    const get = async (path: string): Promise<Response> =>
      send(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })
    for (const [path, value] of live) expect([path, await (await get(path)).json()]).toEqual([path, value])
    expect((await get('/runs?limit=1')).headers.get('link')).toContain('rel="next"')
    expect((await get('/explain/t-nothing')).status).toBe(404)
    await expect(send(`${url}/resume`, { method: 'POST' })).rejects.toThrow('no engine is running here')
  } finally {
    await close()
  }
})

it('cannot write, also when they ask for it, and read beside an engine', async () => {
  const { db, isEngineGone } = await openForReading({ stateDir, environment })
  expect(isEngineGone).toBe(true)
  await expect(db.query(sql`delete from goal`)).rejects.toMatchObject({ code: '25006' })
  await expect(
    db.transaction(async (tx) => {
      await tx.query(sql`set transaction read write`)
      return tx.query(sql`delete from goal`)
    }),
  ).rejects.toMatchObject({ code: '42501' })
  const engine = await openStore({ stateDir, environment })
  const beside = await openForReading({ stateDir, environment })
  expect(beside.isEngineGone).toBe(false)
  expect(await beside.db.query(sql`select id from goal`)).toEqual([{ id: goal }])
  for (const opened of [engine, beside.db, db]) await opened.close()
})

it('of an older version say what brings the store up to date, and leave it as it is', async () => {
  const store = await openStore({ stateDir, environment })
  await store.query(sql`delete from migration where number = ${migrations.length}`)
  await store.close()
  await expect(openForReading({ stateDir, environment })).rejects.toThrow('"unstuck up" updates it')
})
