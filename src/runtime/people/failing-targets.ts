/** Branches of the user on which a check fails since a goal has landed there, for `status` and `report`. */
import type { Queryable } from '../../store/db.ts'
import { storeNow } from '../../store/event.ts'
import { goalsWithFailingTarget } from '../../store/goal.ts'
import { undoCommand } from '../landing/target-check.ts'

export interface FailingTarget {
  goal: string
  title: string
  /** What fails, and since which task. */
  detail: string
  /** Null = no task was found that made it fail. */
  command: string | null
}

export const failingTargets = async (db: Queryable, since: Date): Promise<FailingTarget[]> =>
  (await goalsWithFailingTarget(db, since)).flatMap(({ id, title, landing: { target } }) =>
    target === null
      ? []
      : [
          {
            ...{ goal: id, title, detail: target.detail },
            command: target.taskId === null ? null : undoCommand(target.taskId),
          },
        ],
  )

/** One line for each. */
const failingTargetText = ({ title, detail, command }: FailingTarget): string =>
  `"${title}": ${detail}${command === null ? '' : `. To undo that work: ${command}`}`

const dayMs = 86_400_000

/** Of the last day: what a person has mended by hand is not known here. */
export const failingTargetLines = async (db: Queryable): Promise<string[]> =>
  (await failingTargets(db, new Date((await storeNow(db)).getTime() - dayMs))).map(failingTargetText)
