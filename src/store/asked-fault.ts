/** Questions about a fault of this machine that may have passed meanwhile. */
import type { MachineFault } from '../domain/machine-fault.ts'
import { sql, type Queryable } from './db.ts'

export interface AskedFault {
  /** Of the pending question. */
  id: string
  goalId: string
  taskId: string
  fault: MachineFault
  /** How many questions about such a fault of the task were withdrawn before. */
  withdrawn: number
}

/** Oldest first. Only those of runs on this host: another machine cannot be looked at from here. */
export const askedFaults = (db: Queryable, host: string): Promise<AskedFault[]> =>
  db.query<AskedFault>(sql`
    select escalation.id, escalation.goal_id as "goalId", escalation.task_id as "taskId", run.error_meta -> 'machine' as fault,
      (select count(*)::int from escalation as earlier join run as of on of.id = earlier.run_id
        where earlier.task_id = escalation.task_id and earlier.state = 'expired' and of.error_meta -> 'machine' is not null) as withdrawn
    from escalation join run on run.id = escalation.run_id join agent on agent.id = run.agent_id
    where escalation.state = 'pending' and escalation.task_id is not null and run.error_meta -> 'machine' is not null
      and run.error_meta -> 'machine' ->> 'probe' not in ('base', 'other') and agent.host = ${host}
    order by escalation.created_at`)
