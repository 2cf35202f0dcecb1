/** A read that is answered from memory gives what the store would give at this moment. */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { makePlan } from './plan.ts'
import { reset, runPlan } from './run.ts'
import { openPlainStore, withMemory, type SyncStore } from './sync-store.ts'

let plain: SyncStore
let store: SyncStore
beforeAll(async () => {
  plain = await openPlainStore(inject('simulationSocket'))
  store = withMemory(plain)
})
afterAll(() => store.close())
beforeEach(() => reset(store))

const query = (text: string, ...values: unknown[]): object[] => store.query({ text, values })
const insert = (name: string): object[] => query('insert into job (name, due_at) values ($1, unstuck_now())', name)
const jobs = (): object[] => query('select name from job order by name')

describe('what is remembered', () => {
  test('is read again after a write, in a transaction and after it', () => {
    expect(jobs()).toEqual([])
    store.begin()
    insert('one')
    expect(jobs()).toEqual([{ name: 'one' }])
    store.commit([])
    expect(jobs()).toEqual([{ name: 'one' }])
    query('with gone as (delete from job returning name) select name from gone')
    expect(jobs()).toEqual([])
  })

  test('is what was there before a transaction that was rolled back', () => {
    store.begin()
    expect(jobs()).toEqual([])
    insert('one')
    expect(jobs()).toEqual([{ name: 'one' }])
    store.rollback()
    expect(jobs()).toEqual([])
  })

  test('does not outlive the moment that it depends on', () => {
    const due = 'select name from job where due_at <= unstuck_now()'
    store.setClock(1_000)
    query("insert into job (name, due_at) values ('one', unstuck_now() + interval '1 second')")
    expect(query(due)).toEqual([])
    store.setClock(2_000)
    expect(query(due)).toEqual([{ name: 'one' }])
  })

  test('answers nothing in a transaction that has failed', () => {
    for (const fail of [
      'select 1 / number from task where number = 0 or 1 / 0 = 1',
      'insert into job (name) values (null) returning name',
    ]) {
      expect(jobs()).toEqual([])
      store.begin()
      expect(() => query(fail)).toThrow()
      expect(() => jobs()).toThrow('current transaction is aborted')
      store.rollback()
      expect(jobs()).toEqual([])
    }
  })
})

test('a write that gives nothing tells its error at the latest at the end of its transaction', () => {
  store.begin()
  expect(query('insert into job (name) values (null)')).toEqual([])
  expect(() => store.commit([])).toThrow('null value')
  store.rollback()
  store.begin()
  query('insert into job (name) values (null)')
  expect(() => jobs()).toThrow('null value')
  expect(() => jobs()).toThrow('current transaction is aborted')
  store.rollback()
  expect(jobs()).toEqual([])
})

test('another seed begins empty, also when its first transaction is rolled back', () => {
  insert('one')
  for (const text of ['select count(*) from job', 'select min(name) from job']) expect(query(text)).toHaveLength(1)
  reset(store)
  expect(jobs()).toEqual([])
  store.begin()
  insert('two')
  store.rollback()
  expect(jobs()).toEqual([])
})

test('is what the store holds in every moment of a seed', async () => {
  const different: string[] = []
  const { violation, transitions } = await runPlan(
    makePlan('3'),
    withMemory(plain, (text) => void different.push(text)),
  )
  expect(violation).toBeUndefined()
  expect(transitions).toBeGreaterThan(100)
  expect(different).toEqual([])
})
