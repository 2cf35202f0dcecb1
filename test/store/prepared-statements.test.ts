import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStatements, type Statements } from '../../src/store/prepared-statements.ts'

let db: PGlite
let statements: Statements
const planFor = 40

beforeAll(async () => {
  db = await PGlite.create()
  statements = createStatements(db, planFor)
})
afterAll(() => db.close())

const all = 'select * from thing order by id'

test('a statement gives what the tables hold now, also after a script changed them', async () => {
  await statements.script('create table thing (id int primary key, name text)')
  await statements.query('insert into thing values ($1, $2)', [1, 'one'])
  expect(await statements.query(all, [])).toEqual([{ id: 1, name: 'one' }])
  await statements.script('begin')
  await statements.query('insert into thing values ($1, $2)', [2, null])
  expect(await statements.query(all, [])).toHaveLength(2)
  await statements.script('rollback')
  await statements.script(`alter table thing add column size int default 7`)
  expect(await statements.query(all, [])).toEqual([{ id: 1, name: 'one', size: 7 }])
})

test('values and columns have the types of the statement', async () => {
  const at = new Date('2026-01-02T03:04:05.678Z')
  const text =
    'select $1::int as a, $2::float8 as b, $3::boolean as c, $4::timestamptz as d, $5::jsonb as e, $6::text as f'
  expect(await statements.query(text, [4, 0.5, true, at, '{"x":[1,"ü"]}', 'ß'])).toEqual([
    { a: 4, b: 0.5, c: true, d: at, e: { x: [1, 'ü'] }, f: 'ß' },
  ])
  expect(await statements.query(text, [null, null, false, null, null, undefined])).toEqual([
    { a: null, b: null, c: false, d: null, e: null, f: null },
  ])
})

test('one that fails says why, and the next works', async () => {
  await expect(statements.query('insert into thing values ($1, $2)', [1, 'again'])).rejects.toMatchObject({
    code: '23505',
  })
  await expect(statements.query('select nothing from thing', [])).rejects.toMatchObject({ code: '42703' })
  expect(await statements.query(all, [])).toHaveLength(1)
})

test('those that come at once do not get the answers of each other', async () => {
  const asked = Array.from({ length: 20 }, (_, index) => statements.query('select $1::int as n', [index]))
  expect(await Promise.all(asked)).toEqual(asked.map((_, index) => [{ n: index }]))
})

test('a plan for a small table is not kept when the table has grown', async () => {
  const byName = 'select id from thing where name = $1'
  await statements.script('create index thing_name on thing (name)')
  const planOf = async (): Promise<string> => {
    const [found] = (
      await db.query<{ name: string }>(`select name from pg_prepared_statements where statement = $1`, [byName])
    ).rows
    return JSON.stringify((await db.query(`explain execute ${found?.name}('name 7')`)).rows)
  }
  for (let count = 0; count < 10; count += 1) await statements.query(byName, ['one'])
  await db.query(`insert into thing select n, 'name ' || n from generate_series(2, 20000) as numbers (n)`)
  expect(await planOf()).toContain('Seq Scan')
  for (let count = 0; count < planFor; count += 1) await statements.query(byName, ['one'])
  expect(await planOf()).toContain('thing_name')
})
