/** All statements on what each checkout made of its configuration. */
import { firstRow, fromRow, json, sql, type Queryable } from './db.ts'

/** One key of a change that waits, as it is shown: secrets are redacted. */
export interface ShownChange {
  key: string
  before: string
  after: string
}

export interface WaitingChange {
  /** Of the change itself: a person confirms what was shown, and nothing that came later. */
  digest: string
  changes: ShownChange[]
}

export interface ConfigState {
  /** Host and folder of the checkout. */
  place: string
  accepted: string
  waiting: WaitingChange | null
  /** One message per file that is not valid. */
  rejected: string[]
}

export const configStates = async (db: Queryable): Promise<ConfigState[]> =>
  (await db.query<object>(sql`select place, accepted, waiting, rejected from config_state order by place`)).map((row) =>
    fromRow<ConfigState>(row),
  )

export const configStateAt = async (db: Queryable, place: string): Promise<ConfigState | undefined> => {
  const row = await firstRow<object>(
    db,
    sql`select place, accepted, waiting, rejected from config_state where place = ${place}`,
  )
  return row === undefined ? undefined : fromRow<ConfigState>(row)
}

export const saveConfigState = async (tx: Queryable, state: ConfigState): Promise<void> => {
  const { place, accepted, waiting, rejected } = state
  await tx.query(sql`
    insert into config_state (place, accepted, waiting, rejected)
    values (${place}, ${accepted}, ${waiting === null ? null : json(waiting)}::jsonb, ${json(rejected)}::jsonb)
    on conflict (place) do update set accepted = excluded.accepted, waiting = excluded.waiting, rejected = excluded.rejected,
      updated_at = unstuck_now()`)
}
