/**
 * Tells from the reflog which ref changes the user made. A checkout, commit or new branch in the user's checkout is
 * noted there; commits from an agent's clone arrive by a fetch, a push or a bare write.
 */
import type { RefChange, RefLogEntry } from '../../workspace/refs.ts'

/** Reflog notes of commands that work on a checkout. */
const inCheckout = /^(?:commit|merge|pull|rebase|cherry-pick|revert|am|reset|branch: Created|clone)\b/

/**
 * The entries since the ref was at `before`: all if the ref did not exist then, none if the log does not reach back.
 */
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

/** HEAD points at another branch or commit: was it switched by the newest checkout? */
const switchedTo = (log: readonly RefLogEntry[], after: string): boolean => {
  const to = /^checkout: moving from \S+ to (\S+)$/.exec(
    log.find(({ note }) => note.startsWith('checkout:'))?.note ?? '',
  )
  if (to === null) return false
  return after.startsWith('ref: ') ? after === `ref: refs/heads/${to[1]}` : log[0]?.to === after
}

/**
 * Whether every move in the ref's log is the user's. A deleted ref has no log, so its deletion is never attributed to
 * the user.
 */
export const isUserRefChange = ({ ref, before, after }: RefChange, log: readonly RefLogEntry[]): boolean => {
  if (after === null) return false
  if (ref === 'HEAD') return switchedTo(log, after)
  const moves = since(log, before)
  return moves.length > 0 && moves[0]?.to === after && moves.every(({ note }) => inCheckout.test(note))
}
