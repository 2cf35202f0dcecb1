/** A person schedules goals. The days between the times pass by the clock of the store, while no engine runs. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Goal, ScheduleJson, StatusView } from '../../src/api/contract.ts'
import { runHere, type Ended } from '../cli/in-process.ts'
import { openScene, type Scene } from '../recovery/scene.ts'
import { openTestDatabase, type TestDatabase } from '../support/test-db.ts'
import { isLongForm } from '../support/form.ts'
import { commitAll, put, user } from '../workspace/scene.ts'

let scene: Scene
let database: TestDatabase
let cli: (...args: string[]) => Promise<Ended>
let days = 0

beforeEach(async () => {
  days = 0
  database = await openTestDatabase()
  const environment = { UNSTUCK_DATABASE_URL: database.url, TZ: 'Europe/Berlin' }
  const agent = { driver: 'command' as const, program: `put('made.txt', 'made ' + count('TOP/attempts'))` }
  scene = await openScene({ agent }, {}, { environment })
  const { PATH, HOME } = process.env
  const own = { ...environment, PATH, HOME, UNSTUCK_HOME: join(scene.top, 'home') }
  cli = (...args) => runHere(args, { cwd: scene.root, environment: own })
})
afterEach(async () => {
  await scene.clear()
  await database.clear()
})

const onStore = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** So many days pass while no engine runs; then one starts. */
const restartAfter = async (passed: number): Promise<void> => {
  days += passed
  await scene.stop()
  await onStore(async (client) => {
    const found = await client.query<{ nspname: string }>(
      `select nspname from pg_proc join pg_namespace on pg_namespace.oid = pronamespace where proname = 'unstuck_now'`,
    )
    for (const { nspname } of found.rows)
      await client.query(`create or replace function ${client.escapeIdentifier(nspname)}.unstuck_now() returns timestamptz
        language sql stable as $$ select clock_timestamp() + interval '${days} days' $$`)
  })
  await scene.restart()
}

/** Its time came two minutes ago. */
const setDue = (): Promise<void> =>
  onStore(async (client) => {
    const found = await client.query<{ schemaname: string }>(
      `select schemaname from pg_tables where tablename = 'schedule'`,
    )
    for (const { schemaname } of found.rows) {
      const schema = client.escapeIdentifier(schemaname)
      await client.query(`update ${schema}.schedule set next_at = next_at - interval '2 minutes'`)
    }
  })

const ok = async (...args: string[]): Promise<Ended> => {
  const ended = await cli(...args)
  expect([ended.exitCode, ended.stderr]).toEqual([0, expect.any(String)])
  return ended
}
const listed = async (): Promise<ScheduleJson[]> =>
  JSON.parse((await ok('schedule', 'list', '--json')).stdout) as ScheduleJson[]
const only = async (): Promise<ScheduleJson> => {
  const [schedule, ...more] = await listed()
  expect(more).toEqual([])
  return schedule as ScheduleJson
}
const goals = (): Promise<Goal[]> => scene.get<Goal[]>('/goals')
const happened = async (type: string) =>
  (await scene.get<{ type: string; goalId: string | null }[]>('/events?limit=1000')).filter(
    (event) => event.type === type,
  )
const begun = (count: number): Promise<string> =>
  scene.waitFor(`${count} goals`, async () => {
    const all = await happened('schedule.started')
    return all.length >= count ? (all.at(-1)?.goalId ?? '') : undefined
  })

const file = (more: object = {}): string =>
  JSON.stringify({
    ...{ version: 1, goal: 'Nightly', ...more },
    tasks: [{ title: 'Make it', instructions: 'Do it.', commands: ['test -f made.txt'] }],
  })

test.runIf(isLongForm)(
  'a typo is named; a missed time begins the goal once; an open goal and a lost file begin none and say so; removed is removed',
  { timeout: 300_000 },
  async () => {
    writeFileSync(join(scene.root, 'night.json'), file())
    const typo = await cli('schedule', 'add', '0 25 * * *', 'night.json')
    expect(typo.exitCode).not.toBe(0)
    expect(typo.stderr).toMatch(/cron.*hour "25"/)
    expect(await listed()).toEqual([])

    await ok('schedule', 'add', '0 2 * * *', 'night.json')
    const added = await only()
    expect(added).toMatchObject({ cron: '0 2 * * *', timeZone: 'Europe/Berlin', file: 'night.json', goalId: null })
    expect(
      new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'short' }).format(
        new Date(added.nextAt),
      ),
    ).toBe('02:00')
    const { schedules } = JSON.parse((await cli('status', '--json')).stdout) as StatusView
    expect(schedules).toEqual([added])
    expect((await cli('status')).stdout).toContain(added.id)

    await restartAfter(3)
    const first = await begun(1)
    expect((await only()).goalId).toBe(first)
    expect(Date.parse((await only()).nextAt)).toBe(Date.parse(added.nextAt) + 3 * 86_400_000)
    await scene.until(first, 'ready')
    await restartAfter(0)
    expect(await goals()).toHaveLength(1)

    await restartAfter(1)
    await scene.waitFor('it is said', async () => ((await only()).problem === '' ? undefined : true))
    expect((await only()).problem).toContain(first)
    await restartAfter(1)
    await scene.waitFor('the next time', async () =>
      Date.parse((await only()).nextAt) > Date.parse(added.nextAt) + 4 * 86_400_000 ? true : undefined,
    )
    expect(await happened('schedule.skipped')).toHaveLength(1)
    expect(await goals()).toHaveLength(1)

    await ok('land', first)
    await scene.until(first, 'done')
    rmSync(join(scene.root, 'night.json'))
    await restartAfter(1)
    await scene.waitFor('it is said', async () => ((await only()).problem.includes('night.json') ? true : undefined))
    expect(await happened('schedule.failed')).toHaveLength(1)
    expect((await ok('status')).stdout).toContain('night.json')
    expect((await ok('notify', 'list')).stdout).toContain('schedule.failed')

    writeFileSync(join(scene.root, 'night.json'), file({ allowedDirs: [join(scene.top, 'outside')] }))
    await restartAfter(1)
    await scene.waitFor('it is said', async () => ((await only()).problem.includes('outside') ? true : undefined))
    expect(await goals()).toHaveLength(1)

    writeFileSync(join(scene.root, 'night.json'), file())
    await restartAfter(1)
    const second = await begun(2)
    expect(second).not.toBe(first)
    await scene.until(second, 'ready')
    expect(readFileSync(join(scene.top, 'attempts'), 'utf8')).toBe('2')

    await ok('cancel', second)
    expect((await cli('schedule', 'remove', 's-none')).exitCode).toBe(4)
    await ok('schedule', 'remove', added.id)
    expect(await listed()).toEqual([])
    await restartAfter(2)
    expect(await goals()).toHaveLength(2)
  },
)

test('a sentence begins at its time also while the engine runs', { timeout: 120_000 }, async () => {
  await ok('schedule', 'add', '* * * * *', 'Make it', '--time-zone', 'America/New_York')
  expect(await only()).toMatchObject({ timeZone: 'America/New_York', file: null })
  await setDue()
  expect(await scene.until(await begun(1), 'ready')).toMatchObject({ title: 'Make it' })
})

test('a push begins a goal, and what that goal lands begins none', { timeout: 120_000 }, async () => {
  const refused = async (...args: string[]): Promise<string> => {
    const { exitCode, stderr } = await cli('schedule', 'add', ...args)
    expect(exitCode).toBe(2)
    return stderr
  }
  expect(await refused('--on', 'pusch', 'Make it')).toContain('"push"')
  expect(await refused('--on', 'ci-failed', 'Make it')).toContain('forge.kind')
  expect(await refused('--on', 'issue-labelled', 'Make it')).toContain('forge.label')
  expect(await refused('--on', 'push', 'Make it', '--time-zone', 'Europe/Berlin')).toContain('--time-zone')
  expect(await refused('--on', 'push')).toContain('goal')
  expect(await refused('--on', 'push', '0 2 * * *', 'Make it')).toContain('0 2 * * *')
  expect(await refused('0 2 * * *')).toContain('goal')
  expect(await listed()).toEqual([])

  await ok('schedule', 'add', '--on', 'push', 'Make it', '--merge')
  const added = await only()
  expect(added).toMatchObject({ trigger: 'push', branch: 'main', cron: '', goalId: null, file: null })
  for (const command of [['schedule', 'list'], ['status']]) expect((await ok(...command)).stdout).toContain('on push')

  put(scene.root, { 'by-hand.txt': 'by hand\n' })
  const head = commitAll(scene.root, 'By hand')
  await setDue()
  const goal = await begun(1)
  expect((await only()).seen).toBe(head)
  await scene.until(goal, 'done')
  const landed = user(scene.root, 'rev-parse', 'main')
  expect(landed).not.toBe(head)
  await setDue()
  await scene.waitFor('it is looked at', async () => ((await only()).seen === landed ? true : undefined))
  expect(await goals()).toHaveLength(1)
  await ok('schedule', 'remove', added.id)
  expect(await listed()).toEqual([])
})
