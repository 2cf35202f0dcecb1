/** What the page about recovery says of its figures. Pure. */
import type { RecoveryFigures } from '../../src/api/contract.ts'
import { spanText } from './clock.ts'

const dayMs = 86_400_000

/** The begin of the day `days` days before that of `now`, in the time zone of the reader. */
export const sinceDays = (days: number, now: number): string => {
  const day = new Date(now)
  day.setHours(0, 0, 0, 0)
  day.setDate(day.getDate() - days)
  return day.toISOString()
}

/** Null = of nothing. */
export const percent = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.round((100 * part) / whole)

export const percentText = (part: number, whole: number): string => {
  const value = percent(part, whole)
  return value === null ? '–' : `${value} %`
}

export const tookText = (seconds: number | null): string => (seconds === null ? '–' : spanText(seconds * 1000))

/** Of fewer tasks a rate says nothing. */
const fewestTasks = 10

/** Questions about tasks per 100 tasks that are done; undefined = too few are. */
export const questionsPer100 = ({ questions, done }: Pick<RecoveryFigures, 'questions' | 'done'>): number | undefined =>
  done < fewestTasks ? undefined : Math.round((100 * questions) / done)

export interface DayBar {
  /** Of its begin. */
  at: number
  successes: number
  failures: number
}

/** One bar a day from the first to the last, also where nothing had to be recovered. */
export const dayBars = ({ since, days }: Pick<RecoveryFigures, 'since' | 'days'>, count: number): DayBar[] => {
  const begin = Date.parse(since)
  const known = new Map(days.map((day) => [day.day, day]))
  return Array.from({ length: count }, (_, index) => {
    const { successes = 0, failures = 0 } = known.get(index) ?? {}
    return { at: begin + index * dayMs, successes, failures }
  })
}

/** The families of causes, by rung; see docs/recovery.md. */
const families: Readonly<Record<number, string>> = {
  0: 'preparing',
  1: 'permissions',
  2: 'provider or remote',
  3: 'progress of the agent',
  4: 'checks',
  5: 'path rules',
  6: 'infrastructure',
  7: 'merging',
  8: 'queue',
  9: 'a person',
}

export const familyText = (rung: number): string => families[rung] ?? `rung ${rung}`

/** A name of the code as words. */
export const causeText = (label: string): string => label.toLowerCase().replaceAll('_', ' ')
