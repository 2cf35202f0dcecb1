/**
 * Which changes of the user's refs the user made: git's own logs say so. A checkout, commit or new branch in the user's
 * checkout is noted there; what an agent brings from its clone comes by a fetch, a push or a bare write.
 */
import type { RefChange, RefLogEntry } from '../../workspace/refs.ts'

/** Notes of the commands that work on a checkout. */
const inCheckout = /^(?:commit|merge|pull|rebase|cherry-pick|revert|am|reset|branch: Created|clone)\b/

/** The entries since a ref was at `before`; all of them where it was not there, none where the log does not reach back. */
const since = (log: readonly RefLogEntry[], before: string | null): readonly RefLogEntry[] =>
  before === null
    ? log
    : log.slice(
        0,
        Math.max(
          0,
          log.findIndex(({ to }) => to === before),
        ),
      )

/** HEAD names another branch, or none: its newest checkout led there. */
const switchedTo = (log: readonly RefLogEntry[], after: string): boolean => {
  const to = /^checkout: moving from \S+ to (\S+)$/.exec(
    log.find(({ note }) => note.startsWith('checkout:'))?.note ?? '',
  )
  if (to === null) return false
  return after.startsWith('ref: ') ? after === `ref: refs/heads/${to[1]}` : log[0]?.to === after
}

/** By the log of the ref itself. A deleted ref has none, so nothing tells who deleted it. */
export const isOwnersMove = ({ ref, before, after }: RefChange, log: readonly RefLogEntry[]): boolean => {
  if (after === null) return false
  if (ref === 'HEAD') return switchedTo(log, after)
  const moves = since(log, before)
  return moves.length > 0 && moves[0]?.to === after && moves.every(({ note }) => inCheckout.test(note))
}
