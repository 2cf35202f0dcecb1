import { expect, it } from 'vitest'
import { stallLimits, defaultStallSettings } from '../../recovery/stall.ts'
import { drivers } from '../../harness/drivers.ts'
import { emptyTranscript } from '../../harness/transcript.ts'
import { defaultLoopSettings, loopLimits } from '../../recovery/doom-loop.ts'
import { isAnswerUnseen, stallOf, watchQuiet } from './quiet-watch.ts'

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

it('waits longer for a CLI that prints whole answers where the bytes of one cannot be read', () => {
  const [whole, pieces] = [drivers.codex, drivers.gemini]
  expect(isAnswerUnseen(whole, () => undefined)).toBe(true)
  expect(isAnswerUnseen(whole, () => 0)).toBe(false)
  expect(isAnswerUnseen(pieces, () => undefined)).toBe(false)
  const [plain, longer] = [stallLimits(defaultStallSettings), stallLimits(defaultStallSettings, true)]
  expect(longer.silenceMs).toBeGreaterThan(plain.silenceMs)
  expect(longer.stuckAfterToolResultMs).toBeGreaterThan(plain.stuckAfterToolResultMs)
  expect(longer.waitingForPersonMs).toBe(plain.waitingForPersonMs)
})

const crashOf = (pid: number): string[] => [
  'file:///opt/agent/bundle.js:157',
  '    throw error',
  '    ^',
  '',
  'Error: spawn rg ENOENT',
  ...Array.from(
    { length: 9 },
    (_, at) => `    at ChildProcess._handle.onexit (node:internal/child_process:28${at}:19)`,
  ),
  '    at processTicksAndRejections (node:internal/process/task_queues:90:21) {',
  "  syscall: 'spawn rg',",
  `  pid: ${pid}`,
  '}',
  '',
  'Node.js v24.21.0',
]

it('a program that crashed is described by its error, not by the frames below it', () => {
  const died = (stderrTail: string[]): string | undefined => {
    const { claude } = drivers
    const reading = { ...emptyTranscript(), stderrTail }
    const settled = claude.conclude(reading, { code: 1, signal: null })
    const limits = { stall: stallLimits(defaultStallSettings), loops: loopLimits(defaultLoopSettings) }
    const seen = () => ({ question: '', started: [] })
    return stallOf({ driver: 'claude', name: 'claude', reading, settled, cause: undefined }, { ...limits, seen })?.text
  }
  expect(died(crashOf(17))).toContain('Error: spawn rg ENOENT')
  expect(died(crashOf(17))).not.toContain('node:internal')
  // Two crashes of the same kind are the same failure.
  expect(died(crashOf(17))).toBe(died(crashOf(18)))
  expect(died(['  nothing but', '  indented lines'])).toContain('indented lines')
})
