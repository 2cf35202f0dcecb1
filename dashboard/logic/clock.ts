/**
 * The time of the server, as the page knows it: the time of the last response plus what has passed since then on a monotonic
 * clock. So a browser whose own clock is wrong counts down correctly. Pure.
 */

export interface ServerClock {
  /** The time of the server in the response, in milliseconds since 1970. */
  at: number
  /** When the response arrived, in milliseconds of the page's monotonic clock. */
  heardAt: number
}

export const serverTime = ({ at, heardAt }: ServerClock, monotonic: number): number => at + (monotonic - heardAt)

const two = (value: number): string => String(value).padStart(2, '0')

/** A duration for people: to the second while it is short. */
export const spanText = (ms: number): string => {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 100) return `${minutes} min ${two(seconds % 60)} s`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${two(minutes % 60)} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** Shown beside the state of a task that waits for a time. `what` happens then, such as a retry. */
export const countdownText = (dueAt: string, now: number, what = 'retry'): string => {
  const left = Date.parse(dueAt) - now
  return left > 0 ? `${what} in ${spanText(left)}` : `${what} is due`
}

/** How long something has been going on: without seconds once they no longer matter. */
export const sinceText = (from: string, now: number): string => {
  const seconds = Math.floor((now - Date.parse(from)) / 1000)
  const minutes = Math.floor(seconds / 60)
  return seconds < 100 ? spanText(seconds * 1000) : minutes < 100 ? `${minutes} min` : spanText(minutes * 60_000)
}

/** Coarse, because a reader asks whether it was just now, this hour or yesterday. */
export const agoText = (at: string, now: number): string =>
  now - Date.parse(at) < 1000 ? 'just now' : `${sinceText(at, now)} ago`

const day24 = { hourCycle: 'h23' } as const

/** Date and time in the words of the browser's language, with 24 hours as everywhere else in Unstuck. */
export const dateText = (at: string): string => new Date(at).toLocaleString(undefined, day24)

/** The same without the date. */
export const timeOfDay = (at: string): string => new Date(at).toLocaleTimeString(undefined, day24)
