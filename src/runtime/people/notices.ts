/** One line each for what the owner should know and no goal shows: settings that wait or are not valid, and agents that were refused. */
import { configStateAt } from '../../store/config-state.ts'
import type { Queryable } from '../../store/db.ts'
import { countOfDay } from '../../store/event.ts'

/** `place`: of the engine that is asked, as others have files of their own. Absent = no engine's. */
export const noticesOf = async (db: Queryable, place: string | undefined): Promise<string[]> => {
  const { waiting = null, rejected = [] } = (place === undefined ? undefined : await configStateAt(db, place)) ?? {}
  const { count, last } = await countOfDay(db, 'person_only.refused')
  return [
    ...rejected.map((problem) => `${problem}; the last valid settings stay in use`),
    ...(waiting === null
      ? []
      : [
          `a change of ${waiting.changes.map(({ key }) => key).join(', ')} allows more and waits for you: unstuck config confirm`,
        ]),
    ...(count === 0
      ? []
      : [
          `${count === 1 ? 'a request' : `${count} requests`} of agents for what only a person may do was refused in the last day, last: ${String(last?.action)}`,
        ]),
  ]
}
