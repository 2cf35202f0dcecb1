/**
 * Virtual time. Everything that happens in the simulated world is an event here; one runs at a time, the earliest first and
 * equal ones in the order in which they were asked for, and only when nothing that the one before set off is left to run.
 */

/** Whose event it is: those of a dead owner never happen, those of a suspended one wait. */
export interface ScheduledOwner {
  alive: boolean
  suspendedUntil: number
}

interface Entry {
  at: number
  order: number
  owner: ScheduledOwner | null
  work: () => void | Promise<unknown>
  cancelled: boolean
}

export interface Scheduler {
  /** Milliseconds since the world began; never jumps. */
  now(): number
  /** Runs `work` in `ms`; the function given back calls it off. */
  after(ms: number, work: () => void | Promise<unknown>, owner?: ScheduledOwner | null): () => void
  /** Runs the next event; false when there is none. */
  step(): Promise<boolean>
  steps(): number
}

const before = (one: Entry, other: Entry): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)

const createHeap = () => {
  const heap: Entry[] = []
  const push = (entry: Entry): void => {
    let index = heap.push(entry) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!before(entry, heap[parent] as Entry)) break
      heap[index] = heap[parent] as Entry
      index = parent
    }
    heap[index] = entry
  }
  const sink = (entry: Entry): void => {
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1] as Entry, heap[child] as Entry)) child += 1
      if (!before(heap[child] as Entry, entry)) break
      heap[index] = heap[child] as Entry
      index = child
    }
    heap[index] = entry
  }
  const pop = (): Entry | undefined => {
    const first = heap[0]
    const last = heap.pop()
    if (first !== undefined && last !== undefined && heap.length > 0) sink(last)
    return first
  }
  return { push, pop }
}

/** After this every microtask that was set off has run. */
const drained = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** What an event awaits is only ever the store, which answers at once: more turns mean that it waits for another event. */
const patience = 20

const settle = async (work: Promise<unknown>): Promise<void> => {
  let open = true
  let failed: { error: unknown } | undefined
  work.then(
    () => (open = false),
    (error: unknown) => {
      open = false
      failed = { error }
    },
  )
  for (let turn = 0; open && turn < patience; turn += 1) await drained()
  if (failed !== undefined) throw failed.error
  if (open) throw new Error('a transaction waits for something else than the store')
}

export const createScheduler = (): Scheduler => {
  const heap = createHeap()
  let now = 0
  let order = 0
  let steps = 0
  const ready = (entry: Entry): boolean => {
    if (entry.cancelled || entry.owner?.alive === false) return false
    if (entry.owner === null || entry.owner.suspendedUntil <= entry.at) return true
    entry.at = entry.owner.suspendedUntil
    heap.push(entry)
    return false
  }
  const take = (): Entry | undefined => {
    for (let entry = heap.pop(); entry !== undefined; entry = heap.pop()) if (ready(entry)) return entry
    return undefined
  }
  return {
    now: () => now,
    steps: () => steps,
    after: (ms, work, owner = null) => {
      const entry: Entry = { at: now + Math.max(0, Math.round(ms)), order: (order += 1), owner, work, cancelled: false }
      heap.push(entry)
      return () => {
        entry.cancelled = true
      }
    },
    step: async () => {
      const entry = take()
      if (entry === undefined) return false
      now = Math.max(now, entry.at)
      steps += 1
      const work = entry.work()
      if (work instanceof Promise) await settle(work)
      await drained()
      return true
    },
  }
}
