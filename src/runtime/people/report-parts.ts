/** Parts of the report: what was recovered and continued by new tasks since a time. */
import { actionText } from '../../domain/action-text.ts'
import type { Queryable } from '../../store/db.ts'
import { listRecoveries } from '../../store/recovery.ts'
import { autonomySince, recoveryClasses, recoveryDays, worstFailures } from '../../store/recovery-figures.ts'
import { listTasks } from '../../store/task.ts'

export const recoveredSince = async (db: Queryable, since: Date) =>
  (await listRecoveries(db, null))
    .filter((entry) => entry.startedAt >= since)
    .map((entry) => ({
      playbook: entry.playbook,
      label: entry.label,
      status: entry.status,
      action: entry.action.name,
      did: actionText(entry.action),
      task: entry.taskId,
      ms: entry.decidedAt === null ? null : entry.decidedAt.getTime() - entry.startedAt.getTime(),
      detail: entry.detail,
    }))

export const reworkedSince = async (db: Queryable, since: Date) =>
  (await listTasks(db, null)).flatMap(({ id, title, rework, createdAt }) =>
    rework === null || createdAt < since ? [] : [{ task: rework.parent, child: id, title, because: rework.because }],
  )

const mostFailures = 10

/** How recovery did since a time; the failures are those of the time too. */
export const recoverySince = async (db: Queryable, since: Date) => ({
  since,
  ...(await autonomySince(db, since)),
  days: await recoveryDays(db, since),
  classes: await recoveryClasses(db, since),
  worst: await worstFailures(db, since, mostFailures),
})
