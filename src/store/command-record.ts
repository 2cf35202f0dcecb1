/** How often each command of a proposal worked and failed, by the failure that it was to repair. Reads only. */
import { sql, type Queryable } from './db.ts'

export interface StoredCommandRecord {
  command: string
  signature: string
  worked: number
  failed: number
}

/** Commands whose effect was not observed count for neither. */
export const commandRecords = (db: Queryable): Promise<StoredCommandRecord[]> =>
  db.query<StoredCommandRecord>(sql`
    select command, failing ->> 'signature' as signature,
      count(*) filter (where recovery_execution.state = 'succeeded' and effect)::int as worked,
      count(*) filter (where recovery_execution.state in ('failed', 'unknown') or not effect)::int as failed
    from recovery_execution join recovery_proposal on recovery_proposal.id = proposal_id
    where not repetition group by 1, 2 order by 1, 2`)
