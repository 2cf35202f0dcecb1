/** All statements on what each engine made of its configuration. */
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
  /** Host and state folder: an engine must not take the settings of another one for its own. */
  place: string
  /** Digest of the settings in use. */
  accepted: string
  waiting: WaitingChange | null
  /** Digests of single changes that may apply, but are of a frozen key. They are not asked about again. */
  granted: string[]
  /** One message per file that is not valid. */
  rejected: string[]
  /** 0 = not stored yet. */
  version: number
}

export const configPlace = ({ host, stateDir }: { host: string; stateDir: string }): string => `${host}:${stateDir}`

export const configStateAt = async (db: Queryable, place: string): Promise<ConfigState | undefined> => {
  const row = await firstRow<object>(
    db,
    sql`select place, accepted, waiting, granted, rejected, version from config_state where place = ${place}`,
  )
  return row === undefined ? undefined : fromRow<ConfigState>(row)
}

/** False = the row is no longer of the version that `state` has. */
export const saveConfigState = async (tx: Queryable, state: ConfigState): Promise<boolean> => {
  const { place, accepted, waiting, granted, rejected, version } = state
  const row = await firstRow<object>(
    tx,
    sql`
    insert into config_state (place, accepted, waiting, granted, rejected)
    values (${place}, ${accepted}, ${waiting === null ? null : json(waiting)}::jsonb, ${json(granted)}::jsonb, ${json(rejected)}::jsonb)
    on conflict (place) do update set accepted = excluded.accepted, waiting = excluded.waiting, granted = excluded.granted,
      rejected = excluded.rejected, version = config_state.version + 1, updated_at = unstuck_now()
    where config_state.version = ${version} returning place`,
  )
  return row !== undefined
}
