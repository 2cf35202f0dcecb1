import { describe, expect, it } from 'vitest'
import { emptyVerdict, type CheckResult, type Excuse } from './run.ts'
import {
  remainingFailures,
  preexistingFailuresOfGoal,
  failuresText,
  unacceptedFailures,
} from './preexisting-failures.ts'

const check = (command: string, ...failing: string[]): CheckResult => ({
  ...{
    command,
    source: 'inferred',
    exitCode: failing.length === 0 ? 0 : 1,
    signal: null,
    timedOut: false,
    durationMs: 1,
  },
  ...(failing.length === 0 ? {} : { excused: { because: 'fails on the base commit', failing, proves: true } }),
})

const run = (id: string, at: number, ...checks: CheckResult[]) => ({
  ...{ id, state: 'success' as const, endedAt: new Date(at) },
  verdict: { ...emptyVerdict, checks },
})
const entry = (runId: string, at: number, state: 'merged' | 'failed' = 'merged') => ({
  ...{ runId, state, changedAt: new Date(at) },
})

describe('what is still red', () => {
  const before = run('r1', 1, check('npm test', 'a', 'b'), check('npm run lint', 'x'))
  const mended = run('r2', 2, check('npm test'))
  it('is what the last look at a command says', () => {
    expect(preexistingFailuresOfGoal([before, mended], [])).toEqual([{ command: 'npm run lint', failing: ['x'] }])
    // A task that never looked at it says nothing about it.
    expect(preexistingFailuresOfGoal([before, run('r2', 2, check('node check.js'))], [])).toHaveLength(2)
  })
  it('goes by what landed last, not by what ended last', () => {
    expect(preexistingFailuresOfGoal([before, mended], [entry('r2', 3), entry('r1', 4)])).toHaveLength(2)
    expect(preexistingFailuresOfGoal([before, mended], [entry('r1', 3), entry('r2', 4)])).toHaveLength(1)
  })
  it('leaves out what failed, what could not be merged and what is flaky', () => {
    const excused: Excuse = { because: 'flaky', failing: ['a'], proves: true }
    expect(preexistingFailuresOfGoal([run('r1', 1, { ...check('npm test'), exitCode: 1, excused })], [])).toEqual([])
    expect(preexistingFailuresOfGoal([{ ...before, state: 'failed' as const }], [])).toEqual([])
    expect(preexistingFailuresOfGoal([before], [entry('r1', 2, 'failed')])).toEqual([])
  })
  it('of what was told is what fails by the same name', () => {
    const told = [{ command: 'npm test', failing: ['a', 'b'] }]
    expect(remainingFailures(told, [{ command: 'npm test', failing: ['b', 'c'] }])).toEqual([
      { command: 'npm test', failing: ['b'] },
    ])
    expect(remainingFailures(told, [{ command: 'npm run lint', failing: ['a'] }])).toEqual([])
  })
})

describe('known failures', () => {
  const red = [{ command: 'npm test', failing: ['parses nested text', 'parses (a) [b]'] }]
  it.each([
    [[], 2],
    [['parses nested text'], 1],
    [['parses nested'], 2],
    [['parses*'], 0],
    [['*nested*text'], 1],
    [['parses nested text*text'], 2],
    [['parses (a) [b]', 'parses nested text'], 0],
    [['npm test'], 0],
    [['npm*'], 0],
    [['*'], 0],
  ])('%j leave %i', (known, left) => {
    expect(unacceptedFailures(red, known).flatMap(({ failing }) => failing)).toHaveLength(left)
  })
  it('match in linear time', () => {
    const begun = performance.now()
    unacceptedFailures([{ command: 'x', failing: ['a'.repeat(100_000)] }], [`${'a*'.repeat(2_000)}b`])
    expect(performance.now() - begun).toBeLessThan(20_000)
  })
})

it('names ten tests and counts the others', () => {
  const failing = Array.from({ length: 12 }, (_, at) => `t${at}`)
  expect(failuresText([{ command: 'npm test', failing }])).toBe(
    `npm test (${failing.slice(0, 10).join('; ')}; and 2 more)`,
  )
})
