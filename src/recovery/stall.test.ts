import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  asksForAnswer,
  usedCpuMs,
  isQuestionTool,
  observeSilence,
  sampleIntervalMs,
  noSilence,
  stallText,
  type ActivitySample,
  type SilenceResult,
  type StallLimits,
} from './stall.ts'

const limits: StallLimits = {
  waitingForPersonMs: 1_000,
  stuckAfterToolResultMs: 4_000,
  hangingToolMs: 16_000,
  silenceMs: 8_000,
  probeMs: 2_000,
  busyShare: 0.05,
}
const every = sampleIntervalMs(limits)
const idle: ActivitySample = { passedMs: every, hadOutput: false, cpuShare: 0, afterToolResult: false, toolRuns: false }

/** Looks until something is found, at most `most` times. */
const after = (
  most: number,
  seen: (index: number) => ActivitySample,
  given = limits,
): SilenceResult & { looks: number } => {
  let found: SilenceResult = { silence: noSilence }
  for (let index = 0; index < most; index += 1) {
    found = observeSilence(found.silence, seen(index), given)
    if (found.stall !== undefined) return { ...found, looks: index + 1 }
  }
  return { ...found, looks: most }
}

describe('an agent without output', () => {
  it('whose tree uses no processor is stuck when its clock has run out, and not before', () => {
    const found = after(1_000, () => idle)
    expect(found).toMatchObject({ stall: 'silence', looks: 8_000 / every })
  })
  it('whose tree uses the processor is at work, however long', () => {
    expect(after(10_000, () => ({ ...idle, cpuShare: 0.05 }))).toMatchObject({ silence: { quietMs: 0 } })
  })
  it('of whose processor time nothing is known is not stuck: one signal is none', () => {
    const { cpuShare: _unknown, ...unknown } = idle
    expect(after(10_000, () => unknown).stall).toBeUndefined()
  })
  it('has its clock stopped while it computes, and gone on with behind it', () => {
    const found = after(1_000, (index) => ({ ...idle, cpuShare: index % 2 === 0 ? 1 : 0 }))
    expect(found).toMatchObject({ stall: 'silence', looks: 2 * (8_000 / every) })
  })
  it('is stuck sooner after a tool result, and soonest at a question', () => {
    expect(after(1_000, () => ({ ...idle, afterToolResult: true }))).toMatchObject({
      stall: 'stuck_after_tool_result',
      looks: 4_000 / every,
    })
    const asking = { ...idle, afterToolResult: true, prompt: 'Password:' }
    expect(after(1_000, () => asking)).toMatchObject({ stall: 'waiting_for_person', looks: 1_000 / every })
  })
  it('is not silent while a tool runs, but has a hanging tool after a longer clock', () => {
    const running = { ...idle, toolRuns: true }
    expect(after(1_000, () => running)).toMatchObject({ stall: 'hanging_tool', looks: 16_000 / every })
    expect(after(10_000, () => running, { ...limits, hangingToolMs: Number.POSITIVE_INFINITY }).stall).toBeUndefined()
    expect(after(1_000, () => ({ ...running, prompt: 'Password:' })).stall).toBe('waiting_for_person')
    const call = 'Bash: npm ci'
    const text = (hangingToolMs: number) => stallText('hanging_tool', { ...limits, hangingToolMs }, { call })
    expect(text(1_800_000)).toBe('the tool Bash: npm ci ran for 30 minutes without output or processor time')
    expect(text(4_000)).toBe('the tool Bash: npm ci ran for 4 s without output or processor time')
  })
  it('is reported once per silence, before it is stuck', () => {
    const probes: number[] = []
    let found: SilenceResult = { silence: noSilence }
    for (let index = 0; index < 100; index += 1) {
      found = observeSilence(found.silence, { ...idle, hadOutput: index === 40 }, limits)
      if (found.probe === true) probes.push(index + 1)
      if (found.stall !== undefined) break
    }
    expect(probes).toEqual([2_000 / every, 41 + 2_000 / every])
  })
  it('of an engine that slept is not older for it', () => {
    const found = observeSilence(noSilence, { ...idle, passedMs: 3_600_000 }, limits)
    expect(found).toEqual({ silence: { quietMs: 2 * every, probed: false } })
  })
  it('is never stuck by a clock that is off', () => {
    const off = { ...limits, silenceMs: Number.POSITIVE_INFINITY, probeMs: Number.POSITIVE_INFINITY }
    expect(after(10_000, () => idle, off).stall).toBeUndefined()
    expect(
      sampleIntervalMs({
        ...off,
        waitingForPersonMs: Infinity,
        stuckAfterToolResultMs: Infinity,
        hangingToolMs: Infinity,
      }),
    ).toBe(10_000)
  })
})

it('any sign of life begins all clocks anew', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('heard', 'busy', 'idle', 'unknown'), { minLength: 1, maxLength: 200 }),
      (signs) => {
        let found: SilenceResult = { silence: noSilence }
        let quiet = 0
        for (const sign of signs) {
          const { cpuShare: _share, ...unknown } = idle
          const share = sign === 'busy' ? { cpuShare: 0.5 } : { cpuShare: 0 }
          const seen = sign === 'unknown' ? unknown : { ...idle, ...share, hadOutput: sign === 'heard' }
          found = observeSilence(found.silence, seen, limits)
          quiet = sign === 'heard' ? 0 : quiet + (sign === 'idle' ? every : 0)
          expect(found.silence.quietMs).toBe(quiet)
          expect(found.stall !== undefined).toBe(quiet >= limits.silenceMs && sign === 'idle')
        }
      },
    ),
  )
})

describe('processor time of a tree', () => {
  const row = (pid: number, cpuMs: number, startTime = 'a') => ({ pid, startTime, cpuMs })
  it('counts what each process used more, whole where it is new', () => {
    expect(usedCpuMs([row(1, 100), row(2, 50)], [row(1, 130), row(3, 7)])).toBe(37)
  })
  it('takes a reused pid for a new process and never counts backwards', () => {
    expect(usedCpuMs([row(1, 100)], [row(1, 20, 'b')])).toBe(20)
    expect(usedCpuMs([row(1, 100)], [row(1, 90)])).toBe(0)
    expect(usedCpuMs([row(1, 100)], [])).toBe(0)
  })
})

describe('an unfinished line', () => {
  it.each([
    'Password: ',
    'Need to install the following packages:\nOk to proceed? (y) ? ',
    'Are you sure you want to continue connecting (yes/no/[fingerprint])? ',
    'Overwrite existing file? [y/N] ',
    'Proceed [Y/n]',
    'Press any key to continue . . .',
    'mysql> ',
  ])('asks: %j', (text) => {
    expect(asksForAnswer(text)).toBe(true)
  })
  it.each(['', '  ', 'Downloading 45 %', '{"type":"text","text":"Shall I go on?', '......', 'compiling src/main.rs'])(
    'does not ask: %j',
    (text) => {
      expect(asksForAnswer(text)).toBe(false)
    },
  )
})

it('tools that put a question to a person are known by name', () => {
  const names = ['AskUserQuestion', 'ask_user', 'question', 'ExitPlanMode', 'exit_plan_mode', 'ask_followup_question']
  expect(names.filter(isQuestionTool)).toEqual(names)
  expect(['Bash', 'Task', 'answer_question_file', 'ask'].filter(isQuestionTool)).toEqual([])
})
