/** What agents did to the owner's checkout in the last day, or may have done, one line each, with the command that undoes it. */
import type { Queryable } from '../../store/db.ts'
import { checkoutEvents } from '../../store/event.ts'

/** As checkout-guard.ts writes them. */
type Change = Partial<Record<'ref' | 'part' | 'name' | 'by' | 'why' | 'before' | 'after' | 'kept', string | null>> & {
  restored?: boolean
  dangerous?: boolean
}

const short = (commit: string | null | undefined): string => commit?.slice(0, 12) ?? 'nothing'

const undoOf = ({ part, name, before, after }: Change): string => {
  const what = name ?? ''
  if (part === 'config')
    return `To see it: git config --local --get-all ${what}. To remove it: git config --local --unset-all ${what}`
  if (part === 'hook') return `To see it: look at the hook ${what}; git runs it at the next command that has it`
  if (before == null || after == null || what === 'HEAD') return 'To see it: git log --all --oneline --decorate'
  return `To see it: git log ${short(before)}..${short(after)}. To undo it: git reset --keep ${short(before)} on that branch`
}

const movedLine = ({ ref, before, after, why, restored, kept }: Change): string => {
  const end =
    restored === true
      ? `It was moved back${typeof kept === 'string' ? `; to see what was there: git log ${kept}` : ''}`
      : undoOf({ part: 'ref', name: ref ?? '', before: before ?? null, after: after ?? null })
  return `an agent moved ${String(ref)} of your repository from ${short(before)} to ${short(after)}: ${String(why)}. ${end}`
}

const changedLine = (change: Change, run: string | null): string => {
  const who = change.by === 'agent' ? 'by an agent' : 'and it is not known by whom: if it was not you, undo it'
  const what = change.part === 'ref' ? String(change.name) : `${String(change.part)} ${String(change.name)}`
  return `${what} of your repository changed while run ${run ?? '?'} ran, ${who}. ${undoOf(change)}`
}

const listOf = (value: unknown): Change[] => (Array.isArray(value) ? (value as Change[]) : [])

/** Only the newest: `unstuck explain` and the events tell all. */
const most = 3

export const checkoutLines = async (db: Queryable): Promise<string[]> =>
  (await checkoutEvents(db, most))
    .flatMap(({ runId, payload }) => [
      ...listOf(payload.refs)
        .filter(({ by }) => by === 'agent')
        .map(movedLine),
      ...listOf(payload.changes)
        // A hook or key of which nobody knows who wrote it is a question.
        .filter(({ part, dangerous, by }) => part === 'ref' || (dangerous === true && by === 'agent'))
        .map((change) => changedLine(change, runId)),
    ])
    .slice(0, most)
