/** Every recorded transcript of the real CLIs, read by its driver, against the table of expectations. */
import { describe, expect, it } from 'vitest'
import { claude } from '../../src/harness/claude.ts'
import { codex } from '../../src/harness/codex.ts'
import type { Conclusion } from '../../src/harness/driver.ts'
import { gemini } from '../../src/harness/gemini.ts'
import { opencode } from '../../src/harness/opencode.ts'
import { geminiExpected } from './expected-gemini.ts'
import { opencodeExpected } from './expected-opencode.ts'
import type { Expected } from './expected.ts'
import { claudeExpected, codexExpected } from './expected.ts'
import { replay, scenarios, transcript } from './replay.ts'

const suites = [
  { cli: 'claude', driver: claude, table: claudeExpected },
  { cli: 'codex', driver: codex, table: codexExpected },
  { cli: 'gemini', driver: gemini, table: geminiExpected },
  { cli: 'opencode', driver: opencode, table: opencodeExpected },
] as const

const checkOutcome = (settled: Conclusion, expected: Expected): void => {
  const { error } = expected
  if (error === undefined) {
    expect(settled.ok ? 'ok' : settled.error).toBe('ok')
    return
  }
  if (settled.ok) throw new Error(`settled as a success, expected ${error.type}`)
  const { text, resetAt, ...rest } = settled.error
  const { text: start, resetAt: expectedReset, ...expectedRest } = error
  expect(rest).toEqual(expectedRest)
  expect(resetAt?.toISOString()).toBe(expectedReset)
  expect(text.slice(0, start.length)).toBe(start)
}

const check = (suite: (typeof suites)[number], scenario: string): void => {
  const expected = suite.table[scenario]
  if (expected === undefined) throw new Error(`no expectation for ${suite.cli}/${scenario}`)
  const { lines, exit } = transcript(suite.cli, scenario)
  const { reading } = replay(suite.driver, lines)
  const { session } = expected
  expect(session === null ? reading.sessionId : reading.sessionId?.slice(0, session.length)).toBe(session ?? undefined)
  expect([reading.tokens.input, reading.tokens.output]).toEqual(expected.tokens)
  expect(reading.costUsd?.toFixed(6)).toBe(expected.cost?.toFixed(6))
  expect(reading.toolCalls).toBe(expected.toolCalls)
  expect(reading.foreignLines).toBe(expected.foreignLines)
  expect(reading.final?.reason ?? null).toBe(expected.final)
  expect(reading.retry?.error.type).toBe(expected.retry)
  const denials = reading.denials.map(({ kind, tool, target }) =>
    target === undefined ? [kind, tool] : [kind, tool, target],
  )
  expect(denials).toEqual(expected.denials)
  if (expected.error === undefined) expect(reading.errors).toEqual([])
  checkOutcome(suite.driver.conclude(reading, exit), expected)
}

for (const suite of suites) {
  describe(`${suite.cli} transcripts`, () => {
    it('the table names exactly the recorded scenarios', () => {
      expect(Object.keys(suite.table).toSorted()).toEqual(scenarios(suite.cli).toSorted())
    })
    it.each(scenarios(suite.cli))('%s is read as it happened', (scenario) => check(suite, scenario))
  })
}

describe('across the transcripts', () => {
  it('a launch that we stopped is never a success', () => {
    for (const { cli, driver } of suites) {
      const { lines } = transcript(cli, 'happy')
      const { reading } = replay(driver, lines)
      for (const stopCause of ['limit', 'cancelled', 'correction', 'budget', 'shutdown'])
        expect(driver.conclude(reading, { code: 0, signal: null, stopCause }).ok).toBe(false)
      expect(driver.conclude(reading, { code: null, signal: 'SIGTERM', stopCause: 'lingering' }).ok).toBe(true)
      expect(driver.conclude(reading, { code: 1, signal: null })).toMatchObject({ error: { type: 'bad_exit' } })
    }
  })

  it('reading the same output again gives the same value', () => {
    for (const { cli, driver } of suites) {
      const { lines } = transcript(cli, 'loop-50')
      expect(replay(driver, lines)).toEqual(replay(driver, lines))
    }
  })

  it('the first retry with a bad key already shows it', () => {
    const { lines } = transcript('claude', 'auth-401')
    const first = lines.findIndex((line) => line.text.includes('api_retry'))
    const { reading } = replay(claude, lines.slice(0, first + 1))
    expect(reading.retry).toMatchObject({
      attempt: 1,
      max: 10,
      error: { type: 'authentication_failed', httpStatus: 401 },
    })
    expect(reading.errors).toEqual([])
  })

  it('the versions and the working directory come from the CLI itself', () => {
    const { reading } = replay(claude, transcript('claude', 'happy').lines)
    expect(reading).toMatchObject({ cliVersion: '2.1.197', cwd: '/repo', model: 'claude-opus-4-8[1m]' })
  })
})
