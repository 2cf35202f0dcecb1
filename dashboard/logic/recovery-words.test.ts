import { expect, it } from 'vitest'
import { dayBars, percentText, questionsPer100, tookText, sinceDays } from './recovery-words.ts'

it('begins at midnight of the reader, also over a change of the clock', () => {
  const since = new Date(sinceDays(13, Date.parse('2026-11-02T15:00:00Z')))
  expect([since.getHours(), since.getMinutes()]).toEqual([0, 0])
  expect(Date.parse('2026-11-02T15:00:00Z') - since.getTime()).toBeGreaterThan(12.5 * 86_400_000)
})

it('has a bar for each day, also for one without recoveries', () => {
  const bars = dayBars({ since: '2026-11-01T00:00:00.000Z', days: [{ day: 1, successes: 3, failures: 1 }] }, 3)
  expect(bars.map(({ successes, failures }) => [successes, failures])).toEqual([
    [0, 0],
    [3, 1],
    [0, 0],
  ])
  expect(bars[2]?.at).toBe(Date.parse('2026-11-03T00:00:00Z'))
})

it('claims nothing about nothing', () => {
  expect([percentText(0, 0), questionsPer100({ questions: 2, done: 1 }), tookText(null)]).toEqual(['–', undefined, '–'])
  expect([percentText(2, 3), questionsPer100({ questions: 3, done: 24 }), tookText(0.2)]).toEqual(['67 %', 13, '1 s'])
})
