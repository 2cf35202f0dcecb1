/**
 * Which engine of this process claims the next task. Engines that share a process share the machine, so together they run at most as many agents
 * as the one that may run most, and where they wait for room, each gets it in its turn: one with a long queue must not starve the others.
 */
import type { ClaimTurn } from '../core/context.ts'

/** One that was told that it is its turn, and cannot take it (its store does not respond), must not hold up the others. */
const turnMs = 10_000

interface Member {
  working: () => number
  limit: () => number
  wake: () => void
  /** It is claiming: the run is not among those that work yet. */
  isClaiming: boolean
}

/** `now` is a clock that is never set. */
const createQueue = (now: () => number) => {
  const members = new Set<Member>()
  /** Those that want to claim and have to wait, the next one first. */
  let queue: Member[] = []
  let headSince = 0
  const sum = (count: (member: Member) => number): number => [...members].reduce((all, each) => all + count(each), 0)
  const busy = (): number => sum(({ working, isClaiming }) => working() + (isClaiming ? 1 : 0))
  const limit = (): number => Math.max(1, ...[...members].map((each) => each.limit()))
  const setQueue = (next: Member[]): void => {
    if (next[0] !== queue[0]) headSince = now()
    queue = next
  }
  const enqueue = (member: Member): void => {
    if (!queue.includes(member)) setQueue([...queue, member])
  }
  const without = (member: Member): void => setQueue(queue.filter((each) => each !== member))
  const wakeNext = (but?: Member): void => {
    const [next] = queue
    if (next === undefined || next === but || busy() >= limit()) return
    next.wake()
  }
  /** Puts one that did not take its turn behind the others. */
  const skipAbsent = (member: Member): void => {
    const [next, ...others] = queue
    if (next === undefined || next === member || now() - headSince < turnMs) return
    setQueue([...others, next])
  }
  const ask = (member: Member): string | undefined => {
    const [count, most] = [busy(), limit()]
    // Only while there is room is it the turn of the first one.
    if (count >= most) headSince = now()
    else skipAbsent(member)
    if (count < most && (queue[0] ?? member) === member) {
      without(member)
      member.isClaiming = true
      return undefined
    }
    enqueue(member)
    wakeNext(member)
    return `waiting for a turn: ${count} of ${most} agents work in ${members.size} repositories`
  }
  return { members, ask, without, wakeNext }
}

/** The turn of an engine that may leave the process before the others. */
export interface LeavingTurn extends ClaimTurn {
  leave: () => void
}

/** One call for each engine of the process. */
export const createClaimTurns = (now: () => number): (() => LeavingTurn) => {
  const { members, ask, without, wakeNext } = createQueue(now)
  return () => {
    let member: Member | undefined
    const withdraw = (): void => {
      if (member !== undefined) without(member)
      wakeNext(member)
    }
    return {
      join: (joining) => void members.add((member = { ...joining, isClaiming: false })),
      ask: () => (member === undefined ? undefined : ask(member)),
      done: () => {
        if (member !== undefined) member.isClaiming = false
        wakeNext(member)
      },
      withdraw,
      leave: () => {
        if (member !== undefined) members.delete(member)
        withdraw()
        member = undefined
      },
    }
  }
}
