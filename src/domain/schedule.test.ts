import { expect, it } from 'vitest'
import { checkCron, nextTime } from './schedule.ts'

const now = new Date('2027-01-10T10:00:00Z')

const times = (cron: string, timeZone: string, from: string, count: number): string[] => {
  const found: Date[] = []
  while (found.length < count) found.push(nextTime({ cron, timeZone }, found.at(-1) ?? new Date(from)))
  return found.map((at) => at.toISOString())
}

it.each<[string, RegExp]>([
  ['0 25 * * *', /\bhour "25"/],
  ['60 2 * * *', /\bminute "60"/],
  ['0 2 32 * *', /day of the month "32"/],
  ['0 2 * 13 *', /\bmonth "13"/],
  ['0 2 * * monday', /day of the week "monday"/],
  ['*/0 * * * *', /\bminute "\*\/0"/],
  ['0 2 * *', /five fields.*has 4/],
  ['0 0 2 * * *', /five fields.*has 6/],
  ['@daily', /five fields.*has 1/],
  ['', /five fields.*has 0/],
  ['0 0 31 2 *', /never comes/],
])('"%s" is refused with what is wrong', (cron, message) => {
  expect(() => checkCron(cron, 'UTC', now)).toThrow(message)
})

it('an unknown time zone is refused', () => {
  expect(() => checkCron('0 2 * * *', 'Europe/Berlim', now)).toThrow(/timeZone: "Europe\/Berlim"/)
})

it('spaces are made single', () => {
  expect(checkCron(' 0  2 * *   mon-fri ', 'Europe/Berlin', now)).toBe('0 2 * * mon-fri')
})

it('a time that spring leaves out comes once, an hour later', () => {
  expect(times('30 2 * * *', 'Europe/Berlin', '2027-03-27T12:00:00Z', 2)).toEqual([
    '2027-03-28T01:00:00.000Z',
    '2027-03-29T00:30:00.000Z',
  ])
})

it('a time that autumn repeats comes once', () => {
  expect(times('30 2 * * *', 'Europe/Berlin', '2027-10-30T12:00:00Z', 2)).toEqual([
    '2027-10-31T00:30:00.000Z',
    '2027-11-01T01:30:00.000Z',
  ])
})

it('a schedule of each hour comes in both hours of the same name', () => {
  expect(times('30 * * * *', 'Europe/Berlin', '2027-10-31T00:00:00Z', 3)).toEqual([
    '2027-10-31T00:30:00.000Z',
    '2027-10-31T01:30:00.000Z',
    '2027-10-31T02:30:00.000Z',
  ])
})
