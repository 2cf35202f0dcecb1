/** What questions are about, read with one statement each for all open questions: names, and the failures of their runs. Reads only. */
import type { Goal } from '../domain/goal.ts'
import type { RecoveryProposal } from '../domain/recovery-proposal.ts'
import type { Run } from '../domain/run.ts'
import type { Task } from '../domain/task.ts'
import { fromRow, json, sql, type Queryable } from './db.ts'

export type AskedGoal = Pick<Goal, 'id' | 'title'>
export type AskedTask = Pick<Task, 'id' | 'number' | 'title'>
export type AskedRun = Pick<Run, 'id' | 'number' | 'errorMeta'>

export const askedGoals = async (db: Queryable, ids: readonly string[]): Promise<AskedGoal[]> =>
  (
    await db.query<object>(
      sql`select id, title from goal where id in (select jsonb_array_elements_text(${json(ids)}::jsonb))`,
    )
  ).map((row) => fromRow<AskedGoal>(row))

export const askedTasks = async (db: Queryable, ids: readonly string[]): Promise<AskedTask[]> =>
  (
    await db.query<object>(
      sql`select id, number, title from task where id in (select jsonb_array_elements_text(${json(ids)}::jsonb))`,
    )
  ).map((row) => fromRow<AskedTask>(row))

export const askedRuns = async (db: Queryable, ids: readonly string[]): Promise<AskedRun[]> =>
  (
    await db.query<object>(
      sql`select id, number, error_meta from run where id in (select jsonb_array_elements_text(${json(ids)}::jsonb))`,
    )
  ).map((row) => fromRow<AskedRun>(row))

export const askedProposals = async (db: Queryable, ids: readonly string[]): Promise<RecoveryProposal[]> =>
  (
    await db.query<object>(
      sql`select * from recovery_proposal where id in (select jsonb_array_elements_text(${json(ids)}::jsonb))`,
    )
  ).map((row) => fromRow<RecoveryProposal>(row))
