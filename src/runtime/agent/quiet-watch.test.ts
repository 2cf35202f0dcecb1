import { expect, it } from 'vitest'
import { stallLimits, defaultStallSettings } from '../../recovery/stall.ts'
import { watchQuiet } from './quiet-watch.ts'

/** The clock that ran out in twenty minutes of a process that prints nothing and uses no processor time. */
const stalledWhen = (runnable: boolean, bytesPerSecond = 0): string | undefined => {
  let now = 0
  let look = (): void => {}
  let found: string | undefined
  watchQuiet({
    clock: {
      elapsed: () => now,
      every: (_ms, run) => {
        look = run
        return () => (look = () => {})
      },
    },
    limits: stallLimits(defaultStallSettings),
    usage: () => [{ host: 'h', bootId: 'b', pid: 1, startTime: 's', cpuMs: 0, runnable }],
    received: () => (bytesPerSecond * now) / 1000,
    unfinished: () => '',
    started: () => [],
    isPaused: () => false,
    onQuiet: () => {},
    onStall: (stall) => (found = stall),
  })
  for (; now < 1_200_000; now += 10_000) look()
  return found
}

it('ends what sleeps, and not what waits for its turn on a crowded machine', () => {
  expect(stalledWhen(false)).toBe('silence')
  expect(stalledWhen(true)).toBeUndefined()
})

it('ends neither what is still being answered; the pings of an open connection are no answer', () => {
  expect(stalledWhen(false, 5_000)).toBeUndefined()
  expect(stalledWhen(false, 10)).toBe('silence')
})
