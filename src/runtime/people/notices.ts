/** What the owner should know and no goal shows, one line each: settings that wait or are not valid, and refused requests of agents. */
import { activeAnomalies } from '../../store/anomaly.ts'
import { configStateAt } from '../../store/config-state.ts'
import type { Queryable } from '../../store/db.ts'
import { countOfDay } from '../../store/event.ts'
import { checkoutLines } from './checkout-lines.ts'
import { failingTargetLines } from './failing-targets.ts'
import { readHatch, type Hatch } from '../../store/hatch.ts'
import { countPendingReviews } from '../../store/judged-run.ts'

const judgeOffText = ({ changedBy }: Hatch, waiting: number): string => {
  const by = changedBy === '' ? '' : ` by ${changedBy}`
  const work = waiting === 0 ? '' : `, and ${waiting} task${waiting === 1 ? ' waits' : 's wait'} for it`
  return `the judge was switched off${by}${work}: no review begins and no verdict counts until it is on again. What was approved is still merged. To switch it on: unstuck resume --judge`
}

/** `place`: of the engine that is asked, as others have files of their own. Absent = no engine's. */
export const noticesOf = async (db: Queryable, place: string | undefined): Promise<string[]> => {
  const { waiting = null, rejected = [] } = (place === undefined ? undefined : await configStateAt(db, place)) ?? {}
  const { count, last } = await countOfDay(db, 'person_only.refused')
  const hatch = await readHatch(db)
  return [
    ...(await failingTargetLines(db)),
    ...(await checkoutLines(db)),
    ...(hatch.state === 'off' ? [judgeOffText(hatch, await countPendingReviews(db))] : []),
    ...(await activeAnomalies(db)).map(({ detail }) => detail),
    ...rejected.map((problem) => `${problem}; the last valid settings stay in use`),
    ...(waiting === null
      ? []
      : [
          `a change of ${waiting.changes.map(({ key }) => key).join(', ')} would allow more and waits for you. To see and confirm it: unstuck config confirm`,
        ]),
    ...(count === 0
      ? []
      : [
          `in the last day ${count === 1 ? 'an agent was refused an action' : `agents were refused ${count} actions`} that only a person may do, last: ${String(last?.action)}`,
        ]),
  ]
}
