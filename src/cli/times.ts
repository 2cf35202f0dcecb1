/** Times, durations and counts as people read them. All times are local; JSON output keeps ISO times. */

const units = [
  { seconds: 86_400, name: 'd' },
  { seconds: 3_600, name: 'h' },
  { seconds: 60, name: 'min' },
]

/** "79 s", "12 min", "1 h 12 min", "3 d 4 h". */
export const durationText = (seconds: number): string => {
  const whole = Math.max(0, Math.round(seconds))
  if (whole < 90) return `${whole} s`
  // Rounded first, so that 59 minutes and 50 seconds are an hour and not "60 min".
  const minutes = Math.round(whole / 60) * 60
  const at = units.findIndex((unit) => minutes >= unit.seconds)
  const [unit, next] = units.slice(at, at + 2)
  if (unit === undefined) return `${whole} s`
  const rest = next === undefined ? 0 : Math.floor((minutes % unit.seconds) / next.seconds)
  const first = `${Math.floor(minutes / unit.seconds)} ${unit.name}`
  return next === undefined || rest === 0 ? first : `${first} ${rest} ${next.name}`
}

/** "1 file", "2 files". */
export const countText = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`

type Time = string | number | Date

const two = (value: number): string => String(value).padStart(2, '0')

const hoursMinutes = (at: Date): string => `${two(at.getHours())}:${two(at.getMinutes())}`

/** "Mon 23 Nov", with the year if it is not the current one; empty for today. */
const dayText = (at: Date, now: Date): string => {
  if (at.toDateString() === now.toDateString()) return ''
  const [weekday, month] = at.toDateString().split(' ')
  const year = at.getFullYear() === now.getFullYear() ? '' : ` ${at.getFullYear()}`
  return `${weekday} ${at.getDate()} ${month}${year}`
}

const joined = (...parts: string[]): string => parts.filter((part) => part !== '').join(' ')

/** "23:36", or "Mon 23 Nov 23:36" when that is not today. */
export const timeText = (time: Time, now: Time): string => {
  const at = new Date(time)
  return joined(dayText(at, new Date(now)), hoursMinutes(at))
}

/** As `timeText`, with seconds, for lists of events. */
export const secondText = (time: Time, now: Time): string =>
  `${timeText(time, now)}:${two(new Date(time).getSeconds())}`

/** "at 23:36, in 4 min" for a time to come; "23:36, 4 min ago" for a past time. */
export const whenText = (time: Time, now: Time): string => {
  const [at, present] = [new Date(time), new Date(now)]
  const seconds = (at.getTime() - present.getTime()) / 1000
  if (seconds < 0) return `${timeText(at, present)}, ${durationText(-seconds)} ago`
  const day = dayText(at, present)
  return `${day === '' ? '' : `on ${day} `}at ${hoursMinutes(at)}, in ${durationText(seconds)}`
}

const isoTime = /\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)/g

/** Replaces ISO times in the sentence of an event by local times. */
export const localTimes = (text: string, now: Time): string =>
  text.replace(isoTime, (iso) => (Number.isNaN(Date.parse(iso)) ? iso : timeText(iso, now)))
