/** What was done between the runs of a task and of the tasks that it continues, for a person. */
import type { Task } from '../../domain/task.ts'
import { reviewCauses } from '../../recovery/review-requeue.ts'
import type { Queryable } from '../../store/db.ts'
import { givenUp, leftOut, requeuesOf } from '../../store/requeue.ts'
import { lineageOf } from '../core/call-results.ts'

const times = (count: number): string => (count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`)

/** A start of the task, by the cause that it is counted as. */
const meaning: Readonly<Record<string, string>> = {
  commands: 'started it again with corrected checks',
  paths: 'started it again with more allowed paths',
  suppressed: 'waited for a changed path to become allowed',
  [reviewCauses.await_judge]: 'gave its work to the judge',
  [reviewCauses.restore]: 'gave its work to the judge again, which had given no verdict',
  [reviewCauses.requeue]: 'started it again, because the judge had no work of it',
}

/** Rows that record a decision and no start: the task was given up, or a person left paths out. */
const noStart: readonly string[] = [givenUp, leftOut]

export const requeuedLines = async (db: Queryable, task: Task): Promise<string[]> => {
  const lineage = await lineageOf(db, task)
  const counts = new Map<string, number>()
  for (const each of [...lineage, task])
    for (const { cause } of await requeuesOf(db, each.id)) {
      if (noStart.includes(cause)) continue
      const text = meaning[cause] ?? 'started the task again on its own work'
      counts.set(text, (counts.get(text) ?? 0) + 1)
    }
  const continued = lineage.length === 0 ? [] : [`continued the work in a new task ${times(lineage.length)}`]
  return [...[...counts].map(([text, count]) => `${text} ${times(count)}`), ...continued]
}
