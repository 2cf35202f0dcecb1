/**
 * A store that answers a read from memory as long as nothing was written that the answer depends on: in most passes of an engine little
 * has changed. This is exact, because the world has one connection and every statement goes through here; a read that depends on
 * anything but tables and the clock is never remembered. For the same reason a transaction begins in the store with its first write.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Sql } from '../../src/store/db.ts'
import type { SyncStore } from './pglite-sync.ts'

interface Traits {
  reads: readonly string[]
  writes: readonly string[]
  /** Its answer depends on the clock. */
  timed: boolean
  remembered: boolean
}

interface Answer {
  rows: object[]
  /** How many writes there had been, and the clock. */
  at: number
  clock: number
}

/** What a view reads, whose numbers a sequence gives, and what is deleted with the rows of a table. */
const readBy: Record<string, readonly string[]> = { agent_view: ['agent', 'lease', 'engine'], event_id_seq: ['event'] }
const deletedWith: Record<string, readonly string[]> = {
  notification: ['notification_button', 'notification_delivery'],
}

/** What the session or the server says about itself may change without a write. */
const ofTheServer = /\bpg_|\bcurrent_setting\b|\bclock_timestamp\b|\brandom\b|\bxmin\b/
/** Whether other sessions do something: there are none. */
const ofOthers = /\bpid <> pg_backend_pid\(\)/
/** Not `for update` of a read, and not `do update set` of an insert. */
const written = /\b(?:insert\s+into|delete\s+from|(?<!\b(?:for|key|do)\s+)update)\s+(\w+)/gi

/** `differs`: told of an answer that is not what the store would have given. Without it nothing is compared. */
export const remembering = (
  store: SyncStore,
  tables: readonly string[],
  differs?: (text: string) => void,
): SyncStore => {
  const known = new Map<string, Traits>()
  const traitsOf = (text: string): Traits => {
    const found = known.get(text)
    if (found !== undefined) return found
    const words = new Set(text.match(/\w+/g))
    const named = [...tables, ...Object.keys(readBy)].filter((name) => words.has(name))
    const isOfOthers = ofOthers.test(text)
    const reads = isOfOthers ? [] : named.flatMap((name) => readBy[name] ?? name)
    const writes = [...text.matchAll(written)].flatMap(([, name = '']) => [name, ...(deletedWith[name] ?? [])])
    const remembered = writes.length === 0 && (isOfOthers || (reads.length > 0 && !ofTheServer.test(text)))
    const traits = { reads, writes, timed: text.includes('unstuck_now'), remembered }
    known.set(text, traits)
    return traits
  }
  const answers = new Map<string, Map<string, Answer>>()
  const changedAt = new Map<string, number>()
  let clock = 0
  let count = 0
  const changed = (names: readonly string[]): void => {
    count += 1
    for (const name of names) changedAt.set(name, count)
  }
  // The transaction of this moment: whether the store knows of it, what it wrote, and whether it can only be rolled back.
  let state: 'none' | 'asked' | 'begun' = 'none'
  let touched: string[] = []
  let failed = false
  const begin = (): void => {
    if (state !== 'asked') return
    state = 'begun'
    store.simple('begin')
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
  const lookUp = (statement: Sql, { reads, timed }: Traits): object[] => {
    const key = JSON.stringify(statement.values)
    let known = answers.get(statement.text)
    if (known === undefined) answers.set(statement.text, (known = new Map<string, Answer>()))
    const answer = known.get(key)
    const isSame = answer !== undefined && (!timed || answer.clock === clock)
    if (isSame && reads.every((name) => (changedAt.get(name) ?? 0) <= answer.at)) {
      if (differs !== undefined && !isDeepStrictEqual(answer.rows, store.query(statement))) differs(statement.text)
      return answer.rows.slice()
    }
    const rows = ask(statement)
    known.set(key, { rows, at: count, clock })
    return rows.slice()
  }
  const end = (text: string): void => {
    if (state === 'begun') store.simple(text)
    if (text === 'rollback') changed(touched)
    state = 'none'
    touched = []
    failed = false
  }
  return {
    ...store,
    setClock: (ms) => {
      clock = ms
      store.setClock(ms)
    },
    query: (statement) => {
      const traits = traitsOf(statement.text)
      if (traits.remembered && !failed) return lookUp(statement, traits)
      if (traits.writes.length === 0) return ask(statement)
      begin()
      changed(traits.writes)
      touched.push(...traits.writes)
      return ask(statement)
    },
    simple: (text) => {
      if (text === 'begin') {
        state = 'asked'
        return
      }
      if (text === 'commit' || text === 'rollback') return end(text)
      store.simple(text)
      // Another seed begins.
      answers.clear()
      changed(tables)
    },
  }
}
