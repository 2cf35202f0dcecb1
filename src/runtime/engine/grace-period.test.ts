import { describe, expect, it } from 'vitest'
import { clockJump, type Clocks } from './grace-period.ts'

const before: Clocks = { monotonic: 1_000, boot: 1_000, wall: 50_000, store: 90_000, queryMs: 2 }
/** All three went on by `mono`, and some by more. */
const after = (mono: number, more: { boot?: number; wall?: number; store?: number; asked?: number } = {}): Clocks => ({
  monotonic: before.monotonic + mono,
  boot: before.boot + mono + (more.boot ?? 0),
  wall: before.wall + mono + (more.wall ?? 0),
  store: before.store + mono + (more.store ?? 0),
  queryMs: more.asked ?? 2,
})

describe('between two looks at the clocks', () => {
  it.each<[string, Clocks]>([
    ['the passing of time', after(3_000)],
    ['a late look', after(50_000)],
    ['a clock that is adjusted a little', after(3_000, { wall: 900 })],
    ['a store that was slow to answer', after(40_000, { store: 35_000, asked: 36_000 })],
  ])('%s is no jump', (_title, now) => expect(clockJump(before, now, 60)).toBeUndefined())

  it.each<[string, Clocks, RegExp, number]>([
    ['a process that was stopped', after(61_000), /did nothing for 61 s/, 0],
    ['a machine that slept', after(3_000, { boot: 600_000, wall: 600_000, store: 600_000 }), /slept for 600 s/, 0],
    ["the store's clock ahead", after(3_000, { store: 3_600_000 }), /store was set ahead by 3600 s/, 3_600_000],
    ["the store's clock back", after(3_000, { store: -3_600_000 }), /store was set back by 3600 s/, -3_600_000],
    ['the clock of both', after(3_000, { wall: -90_000, store: -90_000 }), /store was set back by 90 s/, -90_000],
    [
      'a clock set during a sleep',
      after(0, { boot: 60_000, wall: 0, store: 0 }),
      /store was set back by 60 s/,
      -60_000,
    ],
    ["this machine's clock alone", after(3_000, { wall: -90_000 }), /clock of this machine was set back by 90 s/, 0],
  ])('%s is told', (_title, now, text, storeSetMs) => {
    const jump = clockJump(before, now, 60)
    expect(jump?.evidence).toMatch(text)
    expect(jump?.storeSetMs).toBe(storeSetMs)
  })
})
