/** One line each for what the owner should know and no goal shows: settings that wait or are not valid, and agents that were refused. */
import { configStates } from '../../store/config-state.ts'
import type { Queryable } from '../../store/db.ts'
import { countOfDay } from '../../store/event.ts'

export const noticesOf = async (db: Queryable): Promise<string[]> => {
  const states = await configStates(db)
  const { count, last } = await countOfDay(db, 'person_only.refused')
  return [
    ...states.flatMap(({ rejected }) => rejected.map((problem) => `${problem}; the last valid settings stay in use`)),
    ...states.flatMap(({ waiting }) =>
      waiting === null
        ? []
        : `a change of ${waiting.changes.map(({ key }) => key).join(', ')} allows more and waits for you: unstuck config confirm`,
    ),
    ...(count === 0
      ? []
      : [
          `${count === 1 ? 'a request' : `${count} requests`} of agents for what only a person may do was refused in the last day, last: ${String(last?.door)}`,
        ]),
  ]
}
