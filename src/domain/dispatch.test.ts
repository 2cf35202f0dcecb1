import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { laneSlot, priorityBound, rankOf, secondsPerPoint, defaultLanes } from './dispatch.ts'

describe('the order of the queue', () => {
  it('puts the higher priority first, and of equals the older', () => {
    expect(rankOf(5, 1000)).toBeLessThan(rankOf(4, 1000))
    expect(rankOf(5, 999)).toBeLessThan(rankOf(5, 1000))
  })

  it('a task that waited long enough goes before any that comes later, whatever its priority', () => {
    const longest = 2 * priorityBound * secondsPerPoint
    fc.assert(
      fc.property(fc.integer(), fc.integer(), fc.nat(1_000_000_000), fc.nat(1_000_000), (old, young, made, later) => {
        expect(rankOf(old, made)).toBeLessThan(rankOf(young, made + longest + 1 + later))
      }),
    )
  })

  it('each point of priority is worth the same wait', () => {
    fc.assert(
      fc.property(fc.integer({ min: -900, max: 900 }), fc.integer({ min: 1, max: 90 }), (priority, points) => {
        const wait = points * secondsPerPoint
        expect(rankOf(priority, 0)).toBeLessThan(rankOf(priority + points, wait + 1))
        expect(rankOf(priority, 0)).toBeGreaterThan(rankOf(priority + points, wait - 1))
      }),
    )
  })
})

describe('a slot of a lane', () => {
  const now = { taken: [], features: 1, featuresWait: false, idle: 1 }
  it('of features is always there', () => expect(laneSlot('feature', defaultLanes, { ...now, idle: 0 })).toBe(0))
  it('is the first free one', () => expect(laneSlot('conflict_recovery', defaultLanes, { ...now, taken: [1] })).toBe(2))
  it('is not there when all are taken', () => {
    expect(laneSlot('conflict_recovery', defaultLanes, { ...now, taken: [2, 1] })).toBeUndefined()
    expect(laneSlot('docser', defaultLanes, { ...now, taken: [1] })).toBeUndefined()
  })
  it('without a limit is always there', () =>
    expect(laneSlot('docser', { ...defaultLanes, docserMaxSlots: -1 }, { ...now, taken: [1, 2, 3] })).toBe(0))
  it('leaves the last idle agent to a feature that waits while none is at work', () => {
    expect(laneSlot('docser', defaultLanes, { ...now, features: 0, featuresWait: true })).toBeUndefined()
    expect(laneSlot('docser', defaultLanes, { ...now, features: 0, featuresWait: true, idle: 2 })).toBe(1)
    expect(laneSlot('docser', defaultLanes, { ...now, features: 1, featuresWait: true })).toBe(1)
    expect(laneSlot('docser', defaultLanes, { ...now, features: 0 })).toBe(1)
  })
})
