/**
 * What has become due by the store's clock. The leader asks in every pass and mostly nothing has, so one statement answers for all of it.
 */
import { endedLimit } from './account.ts'
import { firstRow, fromRow, isThere, type Queryable } from './db.ts'
import { dueTask } from './due-tasks.ts'
import { halfCancelled } from './goal.ts'
import { dueLeftovers } from './goal-leftover.ts'
import { dueClaim } from './judgement.ts'
import { isScheduleDue } from './schedule.ts'
import { signs } from './vitals.ts'

/** False is certain. True says that it is worth reading what exactly is due: a claim that is worked on is none, for example. */
export interface DueWork {
  /** For the reaper: owners that may be dead. */
  owners: boolean
  limits: boolean
  tasks: boolean
  judgements: boolean
  cancels: boolean
  /** Branches and trees of goals that have ended. */
  leftovers: boolean
  schedules: boolean
  /** By the store's clock. What becomes due after it is not included. */
  askedAt: Date
}

export interface DueAfter {
  renewSeconds: number
  watchSeconds: number
  cancelSeconds: number
  /** Whose claims are due unless it works on them. */
  engineId: string
}

// The time comes first: what the search does not find becomes due after it.
const text = `select unstuck_now() as asked_at, ${signs} as owners,
  ${isThere('account_limit', endedLimit)} as limits,
  ${isThere('task', dueTask('$2'))} as tasks,
  ${isThere('judgement', `state in ('claimed', 'waiting') and ${dueClaim('$4')}`)} as judgements,
  ${isThere('goal', halfCancelled('$3'))} as cancels,
  ${isThere('goal_leftover', dueLeftovers)} as leftovers,
  ${isThere('schedule', isScheduleDue)} as schedules`

export const readDue = async (
  db: Queryable,
  { renewSeconds, watchSeconds, cancelSeconds, engineId }: DueAfter,
): Promise<DueWork> => {
  const row = await firstRow<object>(db, { text, values: [renewSeconds, watchSeconds, cancelSeconds, engineId] })
  if (row === undefined) throw new Error('the store did not say what is due')
  return fromRow<DueWork>(row)
}
