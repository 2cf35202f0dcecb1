/** The clock of the machine is set back by a day while a task waits to be tried again, with a running engine and without one. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterEach, expect, test } from 'vitest'
import { openScene, type Scene } from '../recovery/scene.ts'
import { openTestDatabase, type TestDatabase } from '../support/test-db.ts'
import { isLongForm } from '../support/form.ts'

let scene: Scene
let database: TestDatabase
afterEach(async () => {
  await scene.clear()
  await database.clear()
})

/** For the store alone; its sessions go on. */
const setBack = async (days: number): Promise<void> => {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  try {
    const found = await client.query<{ nspname: string }>(
      `select nspname from pg_proc join pg_namespace on pg_namespace.oid = pronamespace where proname = 'unstuck_now'`,
    )
    expect(found.rows.length).toBeGreaterThan(0)
    for (const { nspname } of found.rows)
      await client.query(`create or replace function ${client.escapeIdentifier(nspname)}.unstuck_now() returns timestamptz
        language sql stable as $$ select clock_timestamp() - interval '${days} days' $$`)
  } finally {
    await client.end()
  }
}

const openGoal = async (blockedSeconds: number): Promise<string> => {
  const program = `put('made.txt', count('TOP/attempts') > 1 ? 'made' : 'not yet')`
  const agent = { driver: 'command' as const, program }
  const playbooks = { disabled: ['check-feedback', 'fresh-feedback'] }
  database = await openTestDatabase()
  const environment = { UNSTUCK_DATABASE_URL: database.url }
  scene = await openScene({ agent }, { requeue: { blockedSeconds }, playbooks }, { environment })
  const check = `node -e "process.exit(require('node:fs').readFileSync('made.txt', 'utf8') === 'made' ? 0 : 1)"`
  const goal = await scene.goal([{ commands: [check] }])
  await scene.waitFor('the task waits to be tried again', async () =>
    (await scene.task(goal)).retry === null ? undefined : true,
  )
  return goal
}

test('a wait ends when it would have ended, though the clock was set back by a day', async () => {
  const goal = await openGoal(4)
  await setBack(1)
  await scene.until(goal, 'ready')
  expect(readFileSync(join(scene.top, 'attempts'), 'utf8')).toBe('2')
})

test.runIf(isLongForm)('also where it was set back while no engine ran', async () => {
  const goal = await openGoal(8)
  await scene.stop()
  await setBack(1)
  await scene.restart()
  await scene.until(goal, 'ready')
})
