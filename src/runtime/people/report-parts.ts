/** Parts of the report: what was recovered and continued by new tasks since a time. */
import type { Queryable } from '../../store/db.ts'
import { listRecoveries } from '../../store/recovery.ts'
import { listTasks } from '../../store/task.ts'

export const recoveredSince = async (db: Queryable, since: Date) =>
  (await listRecoveries(db, null))
    .filter((entry) => entry.startedAt >= since)
    .map((entry) => ({
      playbook: entry.playbook,
      label: entry.label,
      status: entry.status,
      action: entry.action.name,
      task: entry.taskId,
      ms: entry.decidedAt === null ? null : entry.decidedAt.getTime() - entry.startedAt.getTime(),
      detail: entry.detail,
    }))

export const reworkedSince = async (db: Queryable, since: Date) =>
  (await listTasks(db, null)).flatMap(({ id, title, rework, createdAt }) =>
    rework === null || createdAt < since ? [] : [{ task: rework.parent, child: id, title, because: rework.because }],
  )
