/**
 * The server's time, as the page knows it: what the last answer said, plus what has passed since by a clock that nobody
 * can set. A browser whose own clock is wrong counts down rightly. Pure.
 */

export interface ServerClock {
  /** The server's time in the answer, in milliseconds since 1970. */
  at: number
  /** When the answer came, by the page's own monotonic clock. */
  heardAt: number
}

export const serverTime = ({ at, heardAt }: ServerClock, monotonic: number): number => at + (monotonic - heardAt)

const two = (value: number): string => String(value).padStart(2, '0')

/** A span as people read it: to the second while it is short. */
export const spanText = (ms: number): string => {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 100) return `${minutes} min ${two(seconds % 60)} s`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${two(minutes % 60)} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** What stands beside "failed": counted to the due time, and said when it is there. */
export const countdownText = (dueAt: string, now: number): string => {
  const left = Date.parse(dueAt) - now
  return left > 0 ? `retry in ${spanText(left)}` : 'retry is due'
}

export const agoText = (at: string, now: number): string => {
  const passed = now - Date.parse(at)
  return passed < 1000 ? 'just now' : `${spanText(Math.floor(passed / 1000) * 1000)} ago`
}
