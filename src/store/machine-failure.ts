/** What failed on a machine in the last day and what was tried against it, and the checks that passed there. Reads only what runs and recoveries stored. */
import type { CheckResult } from '../domain/run.ts'
import { isEvidence } from '../domain/run.ts'
import { firstRow, fromRow, isThere, json, sql, type Queryable } from './db.ts'
import type { Recovery } from './recovery.ts'

export interface MachineFailure {
  runId: string
  /** Of the failed check, also where the recovery was a proposal of an agent. */
  signature: string
  evidence: string
  /** The check that failed; null = unknown. */
  command: string | null
  at: Date
  /** What was done against it; null = the run failed with it. */
  action: Recovery['action'] | null
  status: Recovery['status'] | null
  decidedAt: Date | null
  /** A probe or the system showed that the machine is at fault, or a change of the environment cured it. */
  confirmed: boolean
}

/** A day of trouble must not make each launch slower. */
const most = 300

/** Newest first. Only checks and their environment: the families of verification and infrastructure. */
export const recentFailures = async (db: Queryable, host: string): Promise<MachineFailure[]> => {
  const rows = await db.query<object>(sql`
    (select recovery.run_id, coalesce(recovery.action ->> 'signature', recovery.signature) as signature, recovery.issue_detected as evidence,
      coalesce(recovery.action ->> 'check', recovery.post_condition ->> 'command', recovery.action ->> 'command') as command,
      recovery.started_at as at, recovery.action, recovery.status, recovery.decided_at,
      (recovery.action ->> 'forChecks' = 'true' or (recovery.status = 'success' and recovery.action ->> 'type' in ('install', 'run_proposed', 'chmod', 'wait')))
        is true as confirmed
    from recovery join run on run.id = recovery.run_id join agent on agent.id = run.agent_id
    where recovery.started_at > unstuck_now() - interval '24 hours' and recovery.rung in (4, 6) and agent.host = ${host}
    order by recovery.started_at desc, recovery.id desc limit ${most})
    union all
    (select run.id, run.error_meta ->> 'signature', run.error_meta ->> 'evidence', run.error_meta ->> 'failedCommand',
      run.ended_at, null::jsonb, null, null, run.error_meta -> 'machine' is not null
    from run join agent on agent.id = run.agent_id
    where run.ended_at > unstuck_now() - interval '24 hours' and run.state = 'failed' and run.error_meta ->> 'source' = 'verification'
      and agent.host = ${host}
    order by run.ended_at desc, run.id desc limit ${most})
    order by at desc`)
  return rows.map((row) => fromRow<MachineFailure>(row))
}

export interface PassedChecks {
  startedAt: Date
  endedAt: Date
  commands: string[]
}

/** The checks of runs that succeeded, newest first. */
export const recentlyPassed = async (db: Queryable, host: string): Promise<PassedChecks[]> => {
  const rows = await db.query<object>(sql`
    select run.started_at, run.ended_at, coalesce(run.verdict -> 'checks', '[]'::jsonb) as checks
    from run join agent on agent.id = run.agent_id
    where run.ended_at > unstuck_now() - interval '24 hours' and run.state = 'success' and agent.host = ${host}
    order by run.ended_at desc, run.id desc limit ${most}`)
  return rows
    .map((row) => fromRow<Omit<PassedChecks, 'commands'> & { checks: CheckResult[] }>(row))
    .map(({ checks, ...run }) => ({ ...run, commands: checks.filter(isEvidence).map(({ command }) => command) }))
}

/** What changes the answers above, apart from the time that passes. */
const changes = ['run.succeeded', 'run.failed', 'run.cancelled', 'recovery.started', 'recovery']

/** Whether runs ended or recoveries began or ended in the events after one up to another. */
export const machineNews = async (
  db: Queryable,
  { after, upTo }: { after: number; upTo: number },
): Promise<boolean> => {
  if (upTo <= after) return false
  const there = isThere('event', 'id > $1 and id <= $2 and type in (select jsonb_array_elements_text($3::jsonb))')
  const row = await firstRow<{ news: boolean }>(db, {
    text: `select ${there} as news`,
    values: [after, upTo, json(changes)],
  })
  return row?.news ?? true
}
