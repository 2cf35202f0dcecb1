/**
 * Waits for the next event of an engine. To ask for new events costs a sixth of a view of a goal, and a test that waits for an agent
 * asks twenty times a second.
 */
const everyMs = 50

export type News = (mostMs: number) => Promise<void>

/** Each call begins a waiter of its own, which resolves when there is an event that it has not seen, at the latest after `mostMs`. */
export const createNews = (after: (seq: number) => Promise<{ seq: number }[]>): (() => News) => {
  let newest = 0
  return () => {
    let seen = newest
    return async (mostMs) => {
      const deadline = performance.now() + mostMs
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, everyMs))
        // An engine that is away has none; who looks finds out.
        const events = await after(seen).catch(() => [])
        seen = events.at(-1)?.seq ?? seen
        newest = Math.max(newest, seen)
        if (events.length > 0 || performance.now() > deadline) return
      }
    }
  }
}
