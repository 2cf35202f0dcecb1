/** What must hold when a store with data of an earlier version is opened, by one engine or by several at once. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { listAgents } from '../../src/store/agent.ts'
import { sql, type Db } from '../../src/store/db.ts'
import { registerEngine } from '../../src/store/engine.ts'
import { migrate, migrations } from '../../src/store/migrate.ts'
import { finishRun, getRun } from '../../src/store/run.ts'
import { openTestDatabase, type TestDatabase } from '../support/test-db.ts'
import { engineOf } from './scene.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database?.clear())

/** Leaves an empty schema as the version that knew this many migrations did. */
const migrateTo = async (db: Db, last: number): Promise<void> => {
  await db.script('create table migration (number integer primary key, applied_at timestamptz not null default now())')
  for (const [index, text] of migrations.slice(0, last).entries())
    await db.script(`begin; insert into migration (number) values (${index + 1}); ${text} commit;`)
}

const agentsWithStates = `
  insert into engine (id, host, boot_id, pid, start_time, roles, state, harnesses, labels, ttl_seconds)
  values ('e-1', 'host', 'boot', 1, '1', '[]', 'online', '[]', '[]', 60), ('e-2', 'host', 'boot', 2, '2', '[]', 'offline', '[]', '[]', 60);
  insert into agent (id, role, host, engine_id, state) values
    ('a1', 'worker', 'host', null, 'idle'), ('a2', 'worker', 'host', null, 'offline'),
    ('e-1-1', 'worker', 'host', 'e-1', 'idle'), ('e-1-2', 'worker', 'host', 'e-1', 'busy'),
    ('e-1-3', 'worker', 'host', 'e-1', 'busy'), ('e-1-4', 'worker', 'host', 'e-1', 'offline'),
    ('e-2-1', 'worker', 'host', 'e-2', 'offline'), ('e-2-2', 'worker', 'host', 'e-2', 'idle');
  insert into goal (id, title, requirement, state, repo_mode, auto_merge, allowed_dirs, limits, spend)
  values ('g', 'g', '', 'active', 'local', false, '[]', '{}', '{}');
  insert into task (id, goal_id, number, title, instructions, role, allowed_paths, denied_paths, commands, original_commands,
    command_source, depends_on, harness, priority, state, epoch)
  values ('t', 'g', 1, 't', '', 'worker', '[]', '[]', '[]', '[]', 'task', '[]', 'codex', 0, 'running', 1);
  insert into run (id, task_id, goal_id, number, epoch, agent_id, harness, state, phase, launches, spend)
  values ('r', 't', 'g', 1, 1, 'e-1-2', 'codex', 'running', 'prepare', '[]', '{}');
  insert into lease (task_id, run_id, agent_id, epoch, expires_at) values ('t', 'r', 'e-1-2', 1, now() + interval '1 minute');
`

it('a store whose agents had states of their own keeps them, as far as their leases and engines bear them out', async () => {
  const stores = await Promise.all(Array.from({ length: 5 }, () => database.openEmpty('older')))
  const db = stores[0] as Db
  const states = async () => (await listAgents(db)).map(({ id, state }) => `${id} ${state}`)
  await migrateTo(db, 5)
  await db.script(agentsWithStates)
  await Promise.all([...stores, ...stores].map(migrate))
  expect(await db.query(sql`select number from migration`)).toHaveLength(migrations.length)
  expect(await states()).toEqual([
    ...['a1 idle', 'a2 offline'],
    // The third was busy without a lease, the fourth a slot of an earlier configuration.
    ...['e-1-1 idle', 'e-1-2 busy', 'e-1-3 idle', 'e-1-4 offline'],
    ...['e-2-1 offline', 'e-2-2 offline'],
  ])
  await db.transaction(async (tx) => {
    await registerEngine(tx, engineOf('e-2'), ['e-2-1', 'e-2-2'])
    const run = await getRun(tx, 'r')
    if (run !== undefined) await finishRun(tx, run, 'interrupted', null)
  })
  expect((await states()).slice(2)).toEqual([
    ...['e-1-1 idle', 'e-1-2 idle', 'e-1-3 idle', 'e-1-4 offline'],
    ...['e-2-1 idle', 'e-2-2 idle'],
  ])
  await Promise.all(stores.map((store) => store.close()))
})
