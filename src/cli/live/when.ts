/** Times for people: local, with a duration beside them. */
import { secondsText } from '../render.ts'

const clock = (at: Date): string => at.toTimeString().slice(0, 5)

/** "at 23:36, in 4 min"; with its day, unless that is today. */
export const whenText = (iso: string, now: Date): string => {
  const at = new Date(iso)
  const day = at.toDateString() === now.toDateString() ? '' : ` on ${at.toDateString().slice(0, 10)}`
  const left = (at.getTime() - now.getTime()) / 1000
  return `at ${clock(at)}${day}, ${left < 1 ? 'now' : `in ${secondsText(left)}`}`
}

/** "8 s", "4 min 12 s", "2 h 5 min": what a stopwatch shows, so that a second passes visibly. */
export const elapsedText = (from: string, now: Date): string => {
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(from)) / 1000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
