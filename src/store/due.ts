/**
 * What has become due by the store's clock. The leader asks in every pass and mostly nothing has, so one statement answers for all of it.
 */
import { endedLimit } from './account.ts'
import { firstRow, isThere, type Queryable } from './db.ts'
import { dueTask } from './due-tasks.ts'
import { halfCancelled } from './goal.ts'
import { dueClaim } from './judgement.ts'
import { signs } from './vitals.ts'

/** False is certain. True says that it is worth reading what exactly is due: a claim that is worked on is none, for example. */
export interface DueWork {
  /** For the reaper: owners that may be dead. */
  owners: boolean
  limits: boolean
  tasks: boolean
  judgements: boolean
  cancels: boolean
}

export interface DueAfter {
  renewSeconds: number
  watchSeconds: number
  cancelSeconds: number
  /** Whose claims are due unless it works on them. */
  engineId: string
}

const text = `select ${signs} as owners,
  ${isThere('account_limit', endedLimit)} as limits,
  ${isThere('task', dueTask('$2'))} as tasks,
  ${isThere('judgement', `state in ('claimed', 'waiting') and ${dueClaim('$4')}`)} as judgements,
  ${isThere('goal', halfCancelled('$3'))} as cancels`

export const readDue = async (
  db: Queryable,
  { renewSeconds, watchSeconds, cancelSeconds, engineId }: DueAfter,
): Promise<DueWork> => {
  const due = await firstRow<DueWork>(db, { text, values: [renewSeconds, watchSeconds, cancelSeconds, engineId] })
  if (due === undefined) throw new Error('the store did not say what is due')
  return due
}
