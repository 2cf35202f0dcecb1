/** Nothing but a CLI's own structured word is ever a denial or an error: not garbage, not prose, not a tool's output. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { claude } from '../../src/harness/claude.ts'
import { codex } from '../../src/harness/codex.ts'
import { command } from '../../src/harness/command.ts'
import type { Driver } from '../../src/harness/driver.ts'
import { gemini } from '../../src/harness/gemini.ts'
import { opencode } from '../../src/harness/opencode.ts'
import type { Cli, Line } from './replay.ts'
import { replay, transcript } from './replay.ts'
import { talkative, withPhrase } from './quotes.ts'
import { triggerPhrases } from './trigger-phrases.ts'
import { samples } from '../support/samples.ts'

const drivers: Record<Cli, Driver> = { claude, codex, gemini, opencode }
const clis: readonly Cli[] = ['claude', 'codex', 'gemini', 'opencode']
const clean = { code: 0, signal: null }

const expectInnocent = (driver: Driver, lines: Line[]): void => {
  const { reading, notes } = replay(driver, lines)
  expect(reading.denials).toEqual([])
  expect(reading.errors).toEqual([])
  expect(reading.retry).toBeUndefined()
  expect(notes.filter((note) => note.kind === 'denial' || note.kind === 'error')).toEqual([])
  expect(driver.conclude(reading, clean).ok).toBe(true)
}

const cutLine = (cli: Cli): fc.Arbitrary<string> => {
  const texts = transcript(cli, 'happy')
    .lines.map((line) => line.text)
    .filter((text) => text.length > 2)
  return fc
    .tuple(fc.constantFrom(...texts), fc.double({ min: 0, max: 0.99, noNaN: true }))
    .map(([text, part]) => text.slice(0, Math.floor(text.length * part)))
}

/** Values of the right shape with anything in them, whose type is nobody's. */
const foreignEvent = fc
  .tuple(fc.string(), fc.dictionary(fc.string(), fc.jsonValue()))
  .map(([type, rest]) => JSON.stringify({ ...rest, type: `x-${type}` }))

const garbage = (cli: Cli): fc.Arbitrary<Line> =>
  fc.record({
    stream: fc.constantFrom('stdout', 'stderr'),
    text: fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.jsonValue().map((value) => JSON.stringify(value)),
      foreignEvent,
      cutLine(cli),
      fc.constantFrom(...triggerPhrases.filter((phrase) => !/^(?:\{|2026|Attempt )/.test(phrase))),
      fc.constant('{"type":"_trimmed","dropped_bytes":1,"dropped_lines":1}'),
    ),
  })

/** Events of a known type whose fields have any type at all. */
const brokenEvent = fc
  .tuple(
    fc.constantFrom(
      'system',
      'assistant',
      'user',
      'result',
      'rate_limit_event',
      'thread.started',
      'turn.completed',
      'turn.failed',
      'error',
      'item.completed',
      'item.started',
      'init',
      'message',
      'tool_use',
      'tool_result',
      'step_start',
      'step_finish',
      'text',
    ),
    fc.record(
      {
        subtype: fc.oneof(fc.constantFrom('init', 'api_retry', 'success'), fc.jsonValue()),
        message: fc.oneof(
          fc.jsonValue(),
          fc.record({ content: fc.jsonValue(), usage: fc.jsonValue(), id: fc.jsonValue() }),
        ),
        item: fc.oneof(
          fc.jsonValue(),
          fc.record({
            type: fc.constantFrom('file_change', 'command_execution'),
            changes: fc.jsonValue(),
            status: fc.jsonValue(),
          }),
        ),
        error: fc.jsonValue(),
        is_error: fc.jsonValue(),
        usage: fc.jsonValue(),
        modelUsage: fc.jsonValue(),
        permission_denials: fc.array(fc.jsonValue()),
        rate_limit_info: fc.oneof(
          fc.jsonValue(),
          fc.record({ status: fc.constant('rejected'), resetsAt: fc.jsonValue() }),
        ),
        part: fc.oneof(
          fc.jsonValue(),
          fc.record({
            tokens: fc.jsonValue(),
            cost: fc.jsonValue(),
            state: fc.jsonValue(),
            text: fc.jsonValue(),
            reason: fc.oneof(fc.constantFrom('stop', 'length', '__proto__'), fc.jsonValue()),
            messageID: fc.jsonValue(),
          }),
        ),
        parameters: fc.jsonValue(),
        stats: fc.oneof(fc.jsonValue(), fc.record({ input_tokens: fc.jsonValue(), cached: fc.jsonValue() })),
        status: fc.oneof(fc.constantFrom('success', 'error'), fc.jsonValue()),
        severity: fc.oneof(fc.constant('error'), fc.jsonValue()),
        role: fc.constant('assistant'),
        content: fc.jsonValue(),
        timestamp: fc.jsonValue(),
        tool_id: fc.jsonValue(),
        session_id: fc.jsonValue(),
        thread_id: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  )
  .map(([type, rest]) => JSON.stringify({ ...rest, type }))

const merged = (lines: Line[], extra: [number, Line][]): Line[] => {
  const result = [...lines]
  for (const [at, line] of extra) result.splice(at % (result.length + 1), 0, line)
  return result
}

describe('innocent output', () => {
  it.each(clis)('garbage anywhere in a good %s run changes nothing', (cli) => {
    const { lines } = transcript(cli, 'happy')
    const extra = fc.array(fc.tuple(fc.nat(), garbage(cli)), { maxLength: 12 })
    fc.assert(
      fc.property(extra, (added) => expectInnocent(drivers[cli], merged(lines, added))),
      { numRuns: samples(300) },
    )
  })

  it.each(clis)('a %s event with fields of any type never throws', (cli) => {
    fc.assert(
      fc.property(fc.array(brokenEvent, { maxLength: 6 }), (events) => {
        const { reading } = replay(
          drivers[cli],
          events.map((text) => ({ stream: 'stdout', text })),
        )
        drivers[cli].conclude(reading, clean)
        expect(Number.isFinite(reading.tokens.input + reading.tokens.output)).toBe(true)
        if (reading.limit?.resetAt !== undefined) expect(reading.limit.resetAt.getTime()).not.toBeNaN()
      }),
      { numRuns: samples(500) },
    )
  })

  it.each(talkative)('%s/%s may say and print every trigger phrase', (cli, scenario) => {
    const { lines } = transcript(cli, scenario)
    const before = replay(drivers[cli], lines).reading.denials
    for (const phrase of triggerPhrases) {
      const { reading } = replay(drivers[cli], withPhrase(lines, phrase))
      expect({ phrase, denials: reading.denials, errors: reading.errors }).toEqual({
        phrase,
        denials: before,
        errors: [],
      })
      expect(drivers[cli].conclude(reading, clean).ok).toBe(true)
    }
  })

  it("a failed shell call of Gemini's may say every trigger phrase", () => {
    for (const phrase of triggerPhrases) {
      const { lines } = transcript('gemini', 'shell-nonzero')
      const failed = lines.map((line) => {
        const event = line.text.startsWith('{') ? (JSON.parse(line.text) as Record<string, unknown>) : {}
        if (event['type'] !== 'tool_result') return line
        const error = { type: 'shell_execute_error', message: phrase }
        return { ...line, text: JSON.stringify({ ...event, status: 'error', output: phrase, error }) }
      })
      expectInnocent(gemini, failed)
    }
  })

  it('a tool of a server may fail with every trigger phrase', () => {
    for (const phrase of triggerPhrases) {
      const use = { type: 'tool_use', tool_name: 'mcp_files_write', tool_id: 'c1', parameters: {} }
      const error = { type: 'mcp_tool_error', message: phrase }
      const failed = { type: 'tool_result', tool_id: 'c1', status: 'error', output: phrase, error }
      const state = { status: 'error', input: {}, error: phrase }
      const part = { type: 'tool', tool: 'files_write', callID: 'c1', state }
      const stdout = (event: object): Line => ({ stream: 'stdout', text: JSON.stringify(event) })
      expectInnocent(gemini, [stdout(use), stdout(failed), stdout({ type: 'result', status: 'success' })])
      const end = { type: 'step_finish', part: { reason: 'stop' } }
      expectInnocent(opencode, [stdout({ type: 'tool_use', part }), stdout(end)])
    }
  })

  it('a plain command may print every trigger phrase on both streams', () => {
    const lines = triggerPhrases.flatMap((text): Line[] => [
      { stream: 'stdout', text },
      { stream: 'stderr', text },
    ])
    expectInnocent(command, lines)
    const { reading } = replay(command, lines)
    const settled = command.conclude(reading, { code: 3, signal: null })
    expect(settled).toMatchObject({ ok: false, error: { source: 'stderr' } })
    expect(settled.ok || settled.error.type).toBeUndefined()
  })

  it.each<[string, string[], string | undefined]>([
    ['an event of an error', ['{"type":"error","error":{"message":"out of credits"}}'], 'out of credits'],
    ['an event with data', ['{"type":"error","error":{"name":"APIError","data":{"message":"no"}}}'], 'no'],
    [
      'a result that is one',
      ['working', '{"type":"result","is_error":true,"result":"weekly rate limit"}'],
      'weekly rate limit',
    ],
    ['a result of an error kind', ['{"type":"result","subtype":"error_max_turns"}'], 'its last event tells an error'],
    ['a result that went well', ['{"type":"result","is_error":false,"result":"done"}'], undefined],
    ['an error that was followed by more', ['{"type":"error","message":"x"}', 'all good now'], undefined],
    ['a file that it printed', ['{"error":"not an event"}'], undefined],
    ['words', ['error: out of credits'], undefined],
  ])('a plain command that ends with 0 and %s', (_what, texts, error) => {
    const lines = texts.map((text): Line => ({ stream: 'stdout', text }))
    const settled = command.conclude(replay(command, lines).reading, { code: 0, signal: null })
    expect(settled.ok ? undefined : settled.error.text).toBe(error)
  })

  it('a line of 1 MiB and a list without end stay bounded', () => {
    const text = 'x'.repeat(1024 * 1024)
    const event = JSON.stringify({ type: 'assistant', message: { content: [{ type: 'text', text }] } })
    const { reading } = replay(claude, [
      { stream: 'stdout', text: event },
      { stream: 'stderr', text },
    ])
    expect(reading.lastText.length).toBeLessThan(20_000)
    expect(reading.stderrTail.join('').length).toBeLessThan(20_000)
    const denied = (id: number): Line => ({
      stream: 'stdout',
      text: JSON.stringify({
        type: 'result',
        is_error: false,
        permission_denials: [{ tool_name: 'Write', tool_use_id: `${id}` }],
      }),
    })
    const many = replay(
      claude,
      Array.from({ length: 500 }, (_, id) => denied(id)),
    )
    expect(many.reading.denials.length).toBeLessThanOrEqual(100)
  })
})
