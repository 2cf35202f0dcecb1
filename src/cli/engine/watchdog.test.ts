import { expect, test } from 'vitest'
import { createSilence, type EngineSilence } from './watchdog.ts'

const limits = { everyMs: 5, startingMs: 40, readyMs: 20 }

/** How many intervals of this length pass until the silence is too long. */
const intervals = (silence: EngineSilence, passedMs: number): number => {
  let count = 1
  while (silence.measure(passedMs) === undefined) count += 1
  return count
}

test('an engine that is starting may be silent longer than one that is ready', () => {
  expect(intervals(createSilence(limits), 5)).toBe(9)
  const ready = createSilence(limits)
  ready.heard('ready')
  expect(intervals(ready, 5)).toBe(5)
})

test('each heartbeat restarts the count, and an early one does not make an engine ready', () => {
  const silence = createSilence(limits)
  for (let count = 0; count < 100; count += 1) {
    expect(silence.measure(5)).toBeUndefined()
    silence.heard('starting')
  }
  expect(intervals(silence, 5)).toBe(9)
})

test('the time of a suspended machine counts as two intervals', () => {
  const silence = createSilence(limits)
  silence.heard('ready')
  expect(silence.measure(8 * 3600 * 1000)).toBeUndefined()
  expect(silence.measure(5)).toBeUndefined()
  silence.heard('ready')
  expect(silence.measure(5)).toBeUndefined()
})
