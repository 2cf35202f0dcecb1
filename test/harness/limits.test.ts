/**
 * What the drivers and the limit detector together make of the recorded CLIs: each refusal by its name and, where the CLI
 * said one, with its reset time; and nothing at all where only the model or a tool says such words.
 */
import { describe, expect, it } from 'vitest'
import { claude } from '../../src/harness/claude.ts'
import { codex } from '../../src/harness/codex.ts'
import { command } from '../../src/harness/command.ts'
import type { AgentExit, Driver } from '../../src/harness/driver.ts'
import { gemini } from '../../src/harness/gemini.ts'
import { opencode } from '../../src/harness/opencode.ts'
import { limitOf } from '../../src/recovery/limit.ts'
import { talkative, withPhrase } from './quotes.ts'
import { replay, scenarios, transcript, type Cli, type Line } from './replay.ts'
import { triggerPhrases } from './trigger-phrases.ts'

const drivers: Record<Cli, Driver> = { claude, codex, gemini, opencode }
/** When the recordings were made, to the hour: the CLIs that print a time of day meant one after this. */
const said = { at: new Date('2026-11-21T21:30:00Z'), timeZone: 'UTC' }

const limitFor = (driver: Driver, lines: Line[], exit: AgentExit) => {
  const settled = driver.conclude(replay(driver, lines).reading, exit)
  if (settled.ok) return undefined
  const found = limitOf({ ...settled.error, messageTime: said })
  return found === undefined ? undefined : { kind: found.kind, at: found.reset?.resetAt.toISOString() }
}

const recorded = (cli: Cli, scenario: string) => {
  const { lines, exit } = transcript(cli, scenario)
  return limitFor(drivers[cli], lines, exit)
}

describe('the recorded refusals', () => {
  it.each<[Cli, string, string, string?]>([
    ['claude', 'usage-limit-oauth', 'quota', '2026-11-21T23:13:45.000Z'],
    ['claude', 'no-credit', 'quota'],
    ['claude', 'rate-limit', 'rate limit'],
    ['claude', 'overloaded', 'overload'],
    ['claude', 'auth-401', 'auth'],
    ['claude', 'no-key', 'auth'],
    ['claude', 'model-404', 'model'],
    ['claude', 'context-400', 'context'],
    ['claude', 'refused', 'network'],
    ['codex', 'usage-limit', 'quota', '2026-11-21T22:54:00.000Z'],
    ['codex', 'no-credit', 'quota'],
    ['codex', 'rate-limit', 'rate limit'],
    ['codex', 'overloaded', 'overload'],
    ['codex', 'server-500', 'overload'],
    ['codex', 'auth-401', 'auth'],
    ['codex', 'model-404', 'model'],
    ['codex', 'context-400', 'context'],
    ['codex', 'refused', 'network'],
    ['codex', 'hang-idle-timeout-config', 'cut stream'],
    ['gemini', 'usage-limit', 'quota'],
    ['gemini', 'rate-limit-long', 'rate limit', '2026-11-21T22:15:08.851Z'],
    ['gemini', 'overloaded', 'overload'],
    ['gemini', 'auth-401', 'auth'],
    ['gemini', 'model-404', 'model'],
    ['gemini', 'context-400', 'context'],
    ['gemini', 'cut-mid-stream', 'cut stream'],
    ['opencode', 'usage-limit', 'quota', '2026-11-21T23:19:57.000Z'],
    ['opencode', 'rate-limit', 'rate limit'],
    ['opencode', 'overloaded', 'overload'],
    ['opencode', 'auth-401', 'auth'],
    ['opencode', 'model-404', 'model'],
    ['opencode', 'refused', 'network'],
  ])('%s/%s is %s %s', (cli, scenario, kind, at) => {
    const found = recorded(cli, scenario)
    expect(found?.kind).toBe(kind)
    if (at !== undefined) expect(found?.at).toBe(at)
  })
})

const clis: readonly Cli[] = ['claude', 'codex', 'gemini', 'opencode']
const well = { code: 0, signal: null }
/** Ways to end that explain nothing by themselves. */
const badEnds: AgentExit[] = [
  { code: 1, signal: null },
  { code: null, signal: 'SIGKILL' },
  { code: 1, signal: null, stopCause: 'lingering' },
]

describe('a model that the account of Codex does not have', () => {
  const text = "The 'gpt-9-none' model is not supported when using Codex with a ChatGPT account."
  const error = { type: 'invalid_request_error', message: text }
  const failing = { code: 1, signal: null }

  it.each([
    ['as a detail', JSON.stringify({ detail: text })],
    ['as an error', JSON.stringify({ type: 'error', status: 400, error })],
    ['alone', text],
  ])('is named, whatever the body is: %s', (_what, message) => {
    const events = [{ type: 'turn.started' }, { type: 'error', message }, { type: 'turn.failed', error: { message } }]
    const lines = events.map((event): Line => ({ stream: 'stdout', text: JSON.stringify(event) }))
    expect(limitFor(codex, lines, failing)).toEqual({ kind: 'model' })
    const settled = codex.conclude(replay(codex, lines).reading, failing)
    expect(settled.ok ? '' : settled.error.text).toBe(text)
  })

  it('is named where a plain command prints it', () => {
    const line: Line = { stream: 'stderr', text: `ERROR: ${JSON.stringify({ detail: text })}` }
    expect(limitFor(command, [line], failing)).toEqual({ kind: 'model' })
  })
})

describe('no false alarm', () => {
  it.each(clis)('over all recordings of %s that ended well', (cli) => {
    const ended = scenarios(cli).filter((scenario) => {
      const { lines, exit } = transcript(cli, scenario)
      return drivers[cli].conclude(replay(drivers[cli], lines).reading, exit).ok
    })
    expect(ended.length).toBeGreaterThan(10)
    for (const scenario of ended) {
      const { lines } = transcript(cli, scenario)
      for (const exit of [well, ...badEnds])
        expect({ scenario, exit, limit: limitFor(drivers[cli], lines, exit) }).toEqual({ scenario, exit })
    }
  })

  it.each(talkative)(
    '%s/%s: the model and its tools may say every trigger phrase, however it ends',
    (cli, scenario) => {
      const { lines } = transcript(cli, scenario)
      for (const phrase of triggerPhrases) {
        const quoting = withPhrase(lines, phrase)
        for (const exit of [well, ...badEnds])
          expect({ phrase, limit: limitFor(drivers[cli], quoting, exit) }).toEqual({ phrase })
        // Cut off before its end, so that nothing but the quotes is left to explain it.
        const half = quoting.filter(({ text }) => !/"(?:result|turn\.completed|step_finish)"/.test(text))
        for (const exit of badEnds) expect({ phrase, limit: limitFor(drivers[cli], half, exit) }).toEqual({ phrase })
      }
    },
  )

  it('a plain command may print every trigger phrase and end well, or be ended', () => {
    // Events with which an agent CLI ends are its own words, whatever its status.
    for (const text of triggerPhrases.filter((phrase) => !/^\{"type":"(?:error|turn\.failed|result)"/.test(phrase)))
      for (const stream of ['stdout', 'stderr'] as const)
        for (const exit of [
          well,
          ...badEnds.filter(({ signal, stopCause }) => signal !== null || stopCause !== undefined),
        ])
          expect(limitFor(command, [{ stream, text }], exit)).toBeUndefined()
  })

  /** Ways in which a tool, a test or the model says what somebody else said. */
  const quotes: ((phrase: string) => string)[] = [
    (phrase) => `the log says: ${phrase}`,
    (phrase) => `> ${phrase}`,
    (phrase) => `    ${phrase}`,
    (phrase) => `"${phrase}"`,
    (phrase) => `\`${phrase}\``,
    (phrase) => `+ ${phrase}`,
    (phrase) => `✗ ${phrase}`,
    (phrase) => `not ok 3 - ${phrase}`,
    (phrase) => `src/limit.ts:12: ${phrase}`,
    (phrase) => `AssertionError [ERR_ASSERTION]: ${phrase}`,
    (phrase) => `${phrase}\nfive\nlines\nof\nother\nwords`,
  ]

  it('a plain command that fails may quote every trigger phrase', () => {
    const single = triggerPhrases.filter((phrase) => !phrase.includes('\n'))
    for (const phrase of single)
      for (const quote of quotes)
        for (const stream of ['stdout', 'stderr'] as const) {
          const lines = quote(phrase).split('\n')
          const printed = lines.map((text): Line => ({ stream, text }))
          expect({ quote: lines[0], limit: limitFor(command, printed, { code: 1, signal: null }) }).toEqual({
            quote: lines[0],
          })
        }
  })
})
