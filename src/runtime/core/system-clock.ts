/** The real clock. The runtime waits and measures only through a `Clock`, so that the simulation controls time. */
import { uptime } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from './context.ts'

export const systemClock: Clock = {
  now: () => new Date(),
  wait: async (ms, signal) => {
    await delay(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined) // aborted = wake up now
  },
  after: (ms, work) => {
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
  },
  every: (ms, work) => {
    const timer = setInterval(work, ms)
    return () => clearInterval(timer)
  },
  elapsed: () => performance.now(),
  sinceBoot: () => uptime() * 1000,
}
