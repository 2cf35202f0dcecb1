/**
 * The runtime hatch: whether the judge works. A backlog of work to judge arms it; the operator's switch outranks that and stays as it is,
 * over restarts and on every engine, because it is read from here each time.
 */
import { firstRow, fromRow, json, sql, type Queryable } from './db.ts'
import { appendEvent } from './event.ts'

/** `idle`: nothing had to be judged yet. `armed`: the judge works. `off`: a person switched it off. */
export type HatchState = 'idle' | 'armed' | 'off'

export interface Hatch {
  state: HatchState
  /** Who switched it last; '' = a backlog. */
  changedBy: string
  changedAt: Date
}

const theRow = (row: object | undefined): Hatch => {
  if (row === undefined) throw new Error('the store has no row for its hatch')
  return fromRow<Hatch>(row)
}

export const readHatch = async (db: Queryable): Promise<Hatch> =>
  theRow(await firstRow(db, sql`select state, changed_by, changed_at from hatch`))

/** The same in a transaction that a person's switch waits for. */
export const holdHatch = async (tx: Queryable): Promise<Hatch> =>
  theRow(await firstRow(tx, sql`select state, changed_by, changed_at from hatch for share`))

const change = async (tx: Queryable, from: readonly HatchState[], to: HatchState, by: string): Promise<boolean> =>
  (await firstRow(
    tx,
    sql`update hatch set state = ${to}, changed_by = ${by}, changed_at = unstuck_now()
    where ${json(from)}::jsonb ? state returning state`,
  )) !== undefined

/** What waits for the judge. */
export interface JudgeBacklog {
  pendingJudgeTaskCount: number
  openPrCount: number
}

/** Work to judge starts the judge, unless a person switched it off. */
export const armHatch = async (tx: Queryable, backlog: JudgeBacklog): Promise<void> => {
  if (await change(tx, ['idle'], 'armed', ''))
    await appendEvent(tx, { type: 'system.runtime_hatch_armed', payload: { by: 'backlog', ...backlog } })
}

/** The operator's switch. False = it stands so already. */
export const switchJudge = async (tx: Queryable, { off, by }: { off: boolean; by: string }): Promise<boolean> => {
  if (!(await change(tx, off ? ['idle', 'armed'] : ['off'], off ? 'off' : 'armed', by))) return false
  if (off) await appendEvent(tx, { type: 'system.runtime_hatch_disarmed', payload: { by } })
  else await appendEvent(tx, { type: 'system.runtime_hatch_armed', payload: { by } })
  return true
}
