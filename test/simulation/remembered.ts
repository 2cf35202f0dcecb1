/**
 * A store that answers a read from memory as long as nothing was written that the answer depends on: in most passes of an engine little
 * has changed. This is exact, because the world has one connection and every statement goes through here; a read that depends on
 * anything but tables and the clock is never remembered. For the same reason a transaction begins in the store with its first write.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Sql } from '../../src/store/db.ts'
import { createFreshness } from './freshness.ts'
import type { SyncStore } from './sync-store.ts'
import { createTraits, type Traits } from './statement-traits.ts'

interface Answer {
  rows: object[]
  /** How many writes there had been, and the clock. */
  at: number
  clock: number
  /** The transaction that it was read in, where it had written by then what the read depends on. */
  within: number | undefined
}

/** `differs`: told of an answer that is not what the store would have given. Without it nothing is compared. */
export const remembering = (
  store: SyncStore,
  tables: readonly string[],
  differs?: (text: string) => void,
): SyncStore => {
  const traitsOf = createTraits(tables)
  const fresh = createFreshness()
  const answers = new Map<string, Map<string, Answer>>()
  let clock = 0
  // The transaction of this moment: whether the store knows of it, and whether it can only be rolled back.
  let state: 'none' | 'asked' | 'begun' = 'none'
  let failed = false
  const begin = (): void => {
    if (state !== 'asked') return
    state = 'begun'
    store.begin()
  }
  const ask = (statement: Sql): object[] => {
    try {
      return store.query(statement)
    } catch (error) {
      // The store refuses from now on whatever comes in this transaction: it fails there too.
      failed = state !== 'none'
      if (state === 'asked') {
        begin()
        store.query(statement)
      }
      throw error
    }
  }
  const isValid = (answer: Answer, statement: Sql, traits: Traits): boolean => {
    if (traits.timed && answer.clock !== clock) return false
    if (answer.within !== undefined && answer.within !== fresh.transaction()) return false
    return fresh.isSince(answer.at, traits, statement.values)
  }
  const lookUp = (statement: Sql, traits: Traits): object[] => {
    const key = JSON.stringify(statement.values)
    let known = answers.get(statement.text)
    if (known === undefined) answers.set(statement.text, (known = new Map<string, Answer>()))
    const answer = known.get(key)
    if (answer !== undefined && isValid(answer, statement, traits)) {
      if (differs !== undefined && !isDeepStrictEqual(answer.rows, store.query(statement))) differs(statement.text)
      return answer.rows.slice()
    }
    const rows = ask(statement)
    const within = fresh.isWritten(traits.reads) ? fresh.transaction() : undefined
    known.set(key, { rows, at: fresh.count(), clock, within })
    return rows.slice()
  }
  const over = (): void => {
    state = 'none'
    failed = false
  }
  const query = (statement: Sql): object[] => {
    const traits = traitsOf(statement.text)
    if (traits.time !== undefined && !failed) return [{ [traits.time]: new Date(clock) }]
    if (traits.remembered && !failed) return lookUp(statement, traits)
    if (traits.writes.length > 0) {
      begin()
      fresh.write(traits.writes)
    }
    return ask(statement)
  }
  return {
    ...store,
    query,
    setClock: (ms) => {
      clock = ms
      store.setClock(ms)
    },
    alone: (statement, looks) => {
      const { writes } = traitsOf(statement.text)
      if (writes.length === 0) return { rows: query(statement), looks: looks.map(query) }
      fresh.begin()
      fresh.write(writes)
      return store.alone(statement, looks)
    },
    begin: () => {
      state = 'asked'
      fresh.begin()
    },
    commit: (looks) => {
      const seen = state === 'begun' ? store.commit(looks) : looks.map(query)
      over()
      return seen
    },
    seen: fresh.seen,
    rollback: () => {
      if (state === 'begun') store.rollback()
      fresh.rollback()
      over()
    },
    script: (text) => {
      store.script(text)
      // Another seed begins.
      answers.clear()
      fresh.begin()
      fresh.write(tables.map((table) => ({ table, deletes: true })))
    },
  }
}
