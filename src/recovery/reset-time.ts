/**
 * Parses when a limit resets, from every form in which servers and CLIs write it. Pure: the caller passes the moment and the
 * time zone of the message. Only a time after words such as "resets" or "try again" counts.
 */

export interface MessageTime {
  /** When the message was written. Durations start here, and a bare time of day is the next one after it. */
  at: Date
  /** Time zone of the machine that wrote the message, for times without a zone. */
  timeZone: string
}

/** Our own longest wait: hardly a limit lasts longer than a week. After it the provider is asked again, whatever it stated. */
export const longestWaitMs = 8 * 24 * 3600 * 1000

/** A stated time beyond this is a mistake of the text or of its reading. */
export const longestResetMs = 366 * 24 * 3600 * 1000

/** A time without seconds may mean any second of its minute, so the end of the minute counts. */
const throughMinute = (at: Date, second: string | undefined): Date =>
  second === undefined ? new Date(at.getTime() + 60_000) : at

/** A time of day that has just passed means today, not tomorrow: it was rounded down, or the message is read later than it was written. */
const justPassedMs = 90 * 60_000

const dayMs = 24 * 3600 * 1000

/** Limits a reset time to between the moment of the message and `longest` after it. */
export const clampReset = (reset: Date, said: Date, longest = longestResetMs): Date =>
  new Date(Math.min(Math.max(reset.getTime(), said.getTime()), said.getTime() + longest))

const dateOf = (ms: number): Date | undefined => {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? undefined : date
}

/** Seconds or milliseconds since 1970, distinguished by their size; undefined = neither. */
export const epochReset = (value: number): Date | undefined => {
  if (!Number.isFinite(value) || value < 1e9) return undefined
  return dateOf(value < 1e11 ? value * 1000 : value)
}

const afterSeconds = (said: Date, seconds: number): Date | undefined => dateOf(said.getTime() + seconds * 1000)

const monthNames = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')

/** Offsets from UTC in hours, for unambiguous abbreviations only. */
const abbreviations: Record<string, number> = {
  ...{ utc: 0, gmt: 0, z: 0, est: -5, edt: -4, cst: -6, cdt: -5, mst: -7, mdt: -6, pst: -8, pdt: -7 },
  ...{ cet: 1, cest: 2, bst: 1, eet: 2, eest: 3, jst: 9 },
}

/** The local time of a zone at a moment, encoded as if it were UTC. */
const wallOf = (ms: number, timeZone: string): number => {
  const parts = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  }).formatToParts(new Date(ms))
  const of = (type: string): number => Number(parts.find((part) => part.type === type)?.value)
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'))
}

interface Zone {
  /** The local time, encoded as if it were UTC. */
  wall(ms: number): number
}

const fixedZone = (minutes: number): Zone => ({ wall: (ms) => ms + minutes * 60_000 })

const offsetPattern = /^(?:utc|gmt)?([+-])(\d{1,2})(?::?(\d\d))?$/i

const namedZone = (name: string): Zone | undefined => {
  const hours = Object.hasOwn(abbreviations, name.toLowerCase()) ? abbreviations[name.toLowerCase()] : undefined
  if (hours !== undefined) return fixedZone(hours * 60)
  const [, sign, h, m = '0'] = offsetPattern.exec(name) ?? []
  if (h !== undefined) return fixedZone((sign === '-' ? -1 : 1) * (Number(h) * 60 + Number(m)))
  if (!name.includes('/')) return undefined
  try {
    wallOf(0, name)
    return { wall: (ms) => wallOf(ms, name) }
  } catch {
    return undefined // no such zone
  }
}

const zoneOf = (name: string | undefined, standard: string): Zone => {
  const named = name === undefined ? undefined : namedZone(name)
  return named ?? namedZone(standard) ?? fixedZone(0)
}

/** The moment at which the zone has this local time. Computed twice, because the offset may differ at the result. */
const momentOf = (wall: number, zone: Zone): number => {
  const first = wall - (zone.wall(wall) - wall)
  return wall - (zone.wall(first) - first)
}

interface Found {
  at: Date
  end: number
}

type Form = (text: string, from: number, saying: MessageTime, zeroWords: string) => Found | undefined

const sticky = (pattern: RegExp, text: string, from: number): RegExpExecArray | null => {
  pattern.lastIndex = from
  return pattern.exec(text)
}

const found = (at: Date | undefined, match: RegExpExecArray): Found | undefined =>
  at === undefined ? undefined : { at, end: match.index + match[0].length }

const httpDate = /(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? (\d{1,2}) ([a-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d) gmt/iy

const readHttpDate: Form = (text, from) => {
  const match = sticky(httpDate, text, from)
  const month = monthNames.indexOf((match?.[2] ?? '').toLowerCase())
  if (match === null || month < 0) return undefined
  const [, day, , year, h, m, s] = match.map(Number)
  return found(dateOf(Date.UTC(year ?? 0, month, day, h, m, s)), match)
}

const iso =
  /(\d{4})-(\d\d)-(\d\d)[t ](\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?(?: ?(z|utc|gmt|[+-]\d\d:?\d\d)(?![a-z0-9])| ?\(([^()\s]{1,40})\))?/iy

const readIso: Form = (text, from, saying) => {
  const match = sticky(iso, text, from)
  if (match === null) return undefined
  const [year, month, day, h, m, s] = match.slice(1, 7).map((part) => Number(part ?? 0))
  const wall = Date.UTC(year ?? 0, (month ?? 1) - 1, day, h, m, s)
  const at = dateOf(momentOf(wall, zoneOf(match[7] ?? match[8], saying.timeZone)))
  return found(at === undefined ? undefined : throughMinute(at, match[6]), match)
}

const epoch = /(\d{10}(?:\.\d{1,6})?|\d{13})(?![\w.])/y

const readEpoch: Form = (text, from) => {
  const match = sticky(epoch, text, from)
  return match === null ? undefined : found(epochReset(Number(match[1])), match)
}

const clock =
  /(?:([a-z]{3})[a-z]{0,6}\.? (\d{1,2})(?:st|nd|rd|th)?,? (?:(\d{4}),? )?(?:at )?)?(\d{1,2})(?::(\d\d))?(?::(\d\d))?(?: ?([ap])\.?m\b\.?)?(?: ?\(([^()\s]{1,40})\)| (utc(?:[+-]\d{1,2}(?::?\d\d)?)?|gmt(?:[+-]\d{1,2}(?::?\d\d)?)?|[a-z]{2,4}t|[a-z]+\/[a-z_/]+)(?![a-z0-9]))?/iy

const hourOf = (hour: number, half: string | undefined): number =>
  half === undefined ? hour : (hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0)

/** The year of a date without one: the nearest such date. */
const yearOf = (wall: number, month: number, day: number): number => {
  const year = new Date(wall).getUTCFullYear()
  const distance = Date.UTC(year, month, day) - wall
  if (distance < -180 * dayMs) return year + 1
  return distance > 180 * dayMs ? year - 1 : year
}

interface ClockTime {
  month: number
  day: number
  year: number | undefined
  /** Milliseconds since midnight. */
  time: number
  zone: Zone
}

const clockMoment = ({ month, day, year, time, zone }: ClockTime, said: number): number => {
  const wall = zone.wall(said)
  if (month >= 0) return momentOf(Date.UTC(year ?? yearOf(wall, month, day), month, day) + time, zone)
  const midnight = Math.floor(wall / dayMs) * dayMs
  const today = momentOf(midnight + time, zone)
  return today < said - justPassedMs ? momentOf(midnight + dayMs + time, zone) : today
}

const readClock: Form = (text, from, saying) => {
  const match = sticky(clock, text, from)
  if (match === null) return undefined
  const [, monthName, dayText, yearText, hourText, minuteText, secondText, half, inBrackets, behind] = match
  // A bare number is not a time of day.
  if (half === undefined && minuteText === undefined) return undefined
  const month = monthName === undefined ? -1 : monthNames.indexOf(monthName.toLowerCase())
  const [hour, minute, second] = [Number(hourText), Number(minuteText ?? 0), Number(secondText ?? 0)]
  const wrongHour = half === undefined ? hour > 23 : hour < 1 || hour > 12
  if (wrongHour || minute > 59 || second > 59 || (monthName !== undefined && month < 0)) return undefined
  const time = ((hourOf(hour, half) * 60 + minute) * 60 + second) * 1000
  const zone = zoneOf(inBrackets ?? behind, saying.timeZone)
  const year = yearText === undefined ? undefined : Number(yearText)
  const at = dateOf(clockMoment({ month, day: Number(dayText), year, time, zone }, saying.at.getTime()))
  return found(at === undefined ? undefined : throughMinute(at, secondText), match)
}

const unitMs: [RegExp, number][] = [
  [/^(?:ms|milli)/, 1],
  [/^s/, 1000],
  [/^m/, 60_000],
  [/^h/, 3_600_000],
  [/^d/, dayMs],
  [/^w/, 7 * dayMs],
]

const duration =
  /(\d{1,9}(?:\.\d{1,9})?) ?(milliseconds?|millis|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)(?![a-z])(?:,? (?:and )?)?/iy

/** `6m0s`, `1h30m`, `20s`, `2 hours 30 minutes`. */
const readDuration: Form = (text, from, { at }) => {
  let [end, ms] = [from, 0]
  for (;;) {
    const match = sticky(duration, text, end)
    if (match === null) break
    const unit = (match[2] ?? '').toLowerCase()
    ms += Number(match[1]) * (unitMs.find(([pattern]) => pattern.test(unit))?.[1] ?? Number.NaN)
    end = match.index + match[0].length
  }
  const reset = end === from ? undefined : dateOf(at.getTime() + ms)
  return reset === undefined ? undefined : { at: reset, end }
}

const count = /(\d{1,9}(?:\.\d{1,3})?)(?![\w.:])/y

/** A bare number counts seconds or milliseconds, but only where the word before it says so. */
const readCount: Form = (text, from, { at }, words) => {
  const match = sticky(count, text, from)
  if (match === null || !/(?:retry[ _-]?after|seconds|_ms|-ms|millis)/i.test(words)) return undefined
  const unit = /(?:_ms|-ms|millis)/i.test(words) ? 1000 : 1
  return found(afterSeconds(at, Number(match[1]) / unit), match)
}

/** In this order, because a later form could match the beginning of an earlier one. */
const forms: readonly Form[] = [readHttpDate, readIso, readEpoch, readDuration, readClock, readCount]

/** The words that must precede a time, with the small words and punctuation in between. */
const lead =
  /(?:\bresets?|\bretry|\btry again|\bavailable(?: again)?|\buntil|\bwait|\bregain access|\blimit reached)(?:[\s"'`:=|·∙,_-]|(?:again|after|approximately|about|around|at|by|delay|for|in|is|ms|millis|on|s|seconds|time)(?![a-z0-9]|\.\d))*/gi

const longestText = 4_000

/** The first reset time in a text, clamped, with the words that state it. */
export const resetIn = (text: string, saying: MessageTime): { at: Date; words: string } | undefined => {
  // Some versions of Node write a narrow no-break space before AM and PM.
  const searched = text.slice(0, longestText).replace(/[\u00a0\u202f]/g, ' ')
  for (const match of searched.matchAll(lead)) {
    const from = match.index + match[0].length
    for (const form of forms) {
      const time = form(searched, from, saying, match[0])
      if (time !== undefined)
        return { at: clampReset(time.at, saying.at), words: searched.slice(match.index, time.end).trim() }
    }
  }
  return undefined
}

/** The value of a `Retry-After` header: seconds, or a date. */
export const retryAfterReset = (value: string, said: Date): Date | undefined =>
  /^\d{1,9}(?:\.\d{1,3})?$/.test(value)
    ? afterSeconds(said, Number(value))
    : readHttpDate(value, 0, { at: said, timeZone: 'UTC' }, '')?.at

/** A field of a response body: an epoch, or a date, possibly in quotes. */
export const fieldReset = (value: unknown): Date | undefined => {
  if (typeof value === 'number') return epochReset(value)
  if (typeof value !== 'string') return undefined
  const at = { at: new Date(0), timeZone: 'UTC' }
  return (readIso(value, 0, at, '') ?? readEpoch(value, 0, at, ''))?.at
}

/** When a wait ends: after its minimum and, where the provider stated a time, after that time plus jitter. */
export const waitEndsAt = (
  { delayMs, until, jitterMs = 0 }: { delayMs: number; until?: string; jitterMs?: number },
  now: Date,
): Date => {
  const least = now.getTime() + delayMs
  if (until === undefined) return new Date(least)
  // Clamped again, because the clock or the engine may have changed since the message.
  const stated = clampReset(new Date(until), now, longestWaitMs).getTime() + jitterMs
  return new Date(Math.max(least, stated))
}
