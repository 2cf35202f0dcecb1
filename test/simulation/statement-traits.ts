/** What a statement depends on and what it writes, read from its text: more than it really does where the text leaves that open. */

export interface Write {
  table: string
  deletes: boolean
}

export interface Traits {
  reads: readonly string[]
  writes: readonly Write[]
  /** Its answer depends on the clock. */
  timed: boolean
  remembered: boolean
  /** It only asks for the time, by this name. */
  time: string | undefined
  /** Whether a column of a table matters to its answer. */
  uses: (table: string, column: string) => boolean
  /** It reads the one row whose id is its first value. */
  isOfOneRow: boolean
}

/** What a view reads, whose numbers a sequence gives, and what is deleted with the rows of a table. */
const readBy: Record<string, readonly string[]> = { agent_view: ['agent', 'lease', 'engine'], event_id_seq: ['event'] }
const deletedWith: Record<string, readonly string[]> = {
  notification: ['notification_button', 'notification_delivery'],
}

/** Needs no store. */
const timeAs = /^\s*select unstuck_now\(\) as (\w+)\s*$/

/** What the session or the server says about itself may change without a write. */
const ofTheServer = /\bpg_|\bcurrent_setting\b|\bclock_timestamp\b|\brandom\b|\bxmin\b/
/** Whether other sessions do something: there are none. */
const ofOthers = /\bpid <> pg_backend_pid\(\)/
/** Not `for update` of a read, and not `do update set` of an insert. */
const written = /\b(insert\s+into|delete\s+from|(?<!\b(?:for|key|do)\s+)update)\s+(\w+)/gi

/** Two tables in it would need more than the id of one. */
const oneRow = /^\s*select (?:\*|1) from (?:goal|task|run) where id = \$1(?: for [a-z ]+)?\s*$/
const count = /\bcount\(\*\)/g
const star = /(?:(\w+)\.)?\*/g
const wholeRow = /\b(?:to_jsonb?|row_to_json|jsonb?_agg|array_agg)\s*\(/

/** Undefined = all columns of every table. */
const tablesInWhole = (text: string, tables: readonly string[]): ReadonlySet<string> | undefined => {
  const whole = new Set<string>()
  const bare = text.replaceAll(count, '')
  if (wholeRow.test(bare)) return undefined
  for (const [, name] of bare.matchAll(star)) {
    // An alias, or every table.
    if (name === undefined || !tables.includes(name)) return undefined
    whole.add(name)
  }
  for (const view of Object.keys(readBy))
    if (bare.includes(view)) for (const table of readBy[view] ?? []) whole.add(table)
  return whole
}

export const createTraits = (tables: readonly string[]): ((text: string) => Traits) => {
  const known = new Map<string, Traits>()
  const read = (text: string): Traits => {
    const words = new Set(text.match(/\w+/g))
    const named = [...tables, ...Object.keys(readBy)].filter((name) => words.has(name))
    const isOfOthers = ofOthers.test(text)
    const reads = isOfOthers ? [] : named.flatMap((name) => readBy[name] ?? name)
    const writes = [...text.matchAll(written)].flatMap(([, how = '', name = '']) =>
      [name, ...(deletedWith[name] ?? [])].map((table) => ({ table, deletes: /^delete/i.test(how) })),
    )
    const whole = tablesInWhole(text, tables)
    return {
      ...{ reads, writes, timed: text.includes('unstuck_now'), time: timeAs.exec(text)?.[1] },
      remembered: writes.length === 0 && (isOfOthers || (reads.length > 0 && !ofTheServer.test(text))),
      uses: (table, column) => whole === undefined || whole.has(table) || words.has(column),
      isOfOneRow: oneRow.test(text),
    }
  }
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const traits = read(text)
    known.set(text, traits)
    return traits
  }
}
