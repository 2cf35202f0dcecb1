import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { diagnose } from './diagnosis.ts'
import type { ObservedCheck } from './evidence.ts'
import { isStrictlyLess } from './failing-set.ts'
import { feedbackLimit, feedbackOn } from './feedback.ts'
import { nextStep, playbooks, totalBudget, type LadderStep } from './ladder.ts'
import type { PastRecovery } from './playbook.ts'

const policy = {
  playbooks,
  disabled: [],
  retry: {
    ...{ transientBaseSeconds: 1, transientMaxSeconds: 1, transientLimit: 1 },
    ...{ quotaBaseSeconds: 1, quotaMaxSeconds: 1 },
  },
}
const task = { id: 't', runId: 'r' }

const check = (items: string[], more: Partial<ObservedCheck> = {}): ObservedCheck => ({
  ...{ command: 'npm test', source: 'task', exitCode: 1, signal: null, timedOut: false, stderr: '', remaining: 0 },
  stdout: '✖ adds (1.2ms)\n  AssertionError [ERR_ASSERTION]: 3 == 4\nℹ tests 1\nℹ fail 1',
  failing: { items, areTests: true },
  ...more,
})

type Recover = Extract<LadderStep, { kind: 'recover' }>

const steps = (history: readonly PastRecovery[], observed: ObservedCheck, otherHarness?: string): LadderStep =>
  nextStep(
    diagnose({ kind: 'check', check: observed, ...(otherHarness === undefined ? {} : { otherHarness }) }),
    history,
    policy,
    task,
  )
const recover = (step: LadderStep): Recover => {
  if (step.kind !== 'recover') throw new Error(step.reason)
  return step
}
const past = (step: LadderStep, status: PastRecovery['status']): PastRecovery => {
  const { playbook, actionKey } = recover(step)
  return { ...{ runId: 'r', playbook: playbook.id, label: 'test_failure' }, actionKey, status, counted: true }
}

describe('feedback', () => {
  it('goes to the agent in its session and names what fails', () => {
    expect(steps([], check(['adds']))).toMatchObject({
      playbook: { id: 'check-feedback' },
      action: { resume: true, hint: expect.stringContaining('- adds') },
      postCondition: { type: 'fewer_failures', command: 'npm test', failing: ['adds'] },
    })
  })

  it('is not given again for the same failures: a new session, another harness, then a person', () => {
    const history: PastRecovery[] = []
    const ids: string[] = []
    for (const harness of ['codex', 'codex', 'codex']) {
      const step = steps(history, check(['adds', 'subtracts']), harness)
      ids.push(recover(step).playbook.id)
      history.push(past(step, 'failed'))
    }
    expect(ids).toEqual(['check-feedback', 'fresh-feedback', 'feedback-elsewhere'])
    // In another order they are the same failures.
    expect(steps(history, check(['subtracts', 'adds']), 'codex')).toMatchObject({ kind: 'exhausted', then: 'escalate' })
    expect(steps(history.slice(0, 2), check(['adds', 'subtracts']))).toMatchObject({ kind: 'exhausted' })
  })

  it('has three rounds, and fewer failures begin them anew', () => {
    const rounds = (status: PastRecovery['status']): number => {
      const history: PastRecovery[] = []
      for (let round = 0; ; round += 1) {
        const step = steps(history, check([`test ${round}`]))
        if (step.kind !== 'recover' || step.playbook.id !== 'check-feedback') return round
        history.push(past(step, status))
      }
    }
    expect(rounds('failed')).toBe(3)
    expect(rounds('success')).toBe(totalBudget)
  })

  it('blames the work only where the check judged it, or passes on the base commit', () => {
    const base = (state: 'passes' | 'fails' | 'unknown') => ({ baseline: { state, detail: '' } })
    const packageGone = { stdout: '', stderr: "Error: Cannot find package 'tiny'" }
    expect(steps([], check(['x'], { ...packageGone, ...base('unknown') })).kind).toBe('exhausted')
    expect(steps([], check(['x'], { ...packageGone, ...base('passes') })).kind).toBe('recover')
    expect(steps([], check(['x'], { timedOut: true, ...base('unknown') })).kind).toBe('exhausted')
    expect(steps([], check(['x'], { timedOut: true, ...base('passes') })).kind).toBe('recover')
    expect(steps([], check(['x'], base('unknown'))).kind).toBe('recover')
  })
})

describe('a check that fails exactly as on the base commit', () => {
  const crash = "Error: ENOENT: no such file or directory, open '/w/test/fixtures/key.pem'"
  const same = {
    source: 'inferred' as const,
    baseline: { state: 'fails' as const, detail: 'it fails there as well', isSame: true as const },
    changed: ['src/agent.js'],
  }
  const crashed = { ...same, stdout: '', stderr: crash, failing: { items: [crash], areTests: false } }
  const stepOf = (more: Partial<ObservedCheck>, history: readonly PastRecovery[] = []) =>
    steps(history, check(['adds'], more), 'codex')

  it('is for a person at once, where it has nothing to do with the changed files', () => {
    expect(stepOf(crashed)).toMatchObject({ kind: 'exhausted', then: 'escalate' })
    expect(diagnose({ kind: 'check', check: check(['adds'], crashed) })).toMatchObject({ retryable: false })
  })

  it.each([
    ['its output names a changed file', { ...crashed, stderr: `${crash}\n  at src/agent.js:3:1` }],
    ['its tests ran, and the task may be to mend them', same],
    ['it is a type error', { ...crashed, stderr: "src/a.ts(1,2): error TS2304: Cannot find name 'x'." }],
  ])('is told to the agent once where %s', (_why, more) => {
    const first = stepOf(more)
    expect(recover(first).playbook.id).toBe('check-feedback')
    expect(stepOf(more, [past(first, 'failed')])).toMatchObject({ kind: 'exhausted', then: 'escalate' })
  })

  it.each([
    ['the task names it', { ...crashed, source: 'task' as const }],
    ['it fails on the base commit in another way', { ...crashed, baseline: { ...same.baseline, isSame: undefined } }],
  ])('has all rounds where %s', (_why, { baseline, ...more }) => {
    const { isSame, ...other } = baseline
    const observed = { ...more, baseline: isSame === undefined ? other : { ...other, isSame } }
    const first = stepOf(observed)
    expect(stepOf(observed, [past(first, 'failed')])).toMatchObject({ playbook: { id: 'fresh-feedback' } })
  })
})

describe('feedback to an agent', () => {
  const told = (stdout: string, more: Partial<ObservedCheck> = {}): string =>
    feedbackOn(check(['adds'], { stdout, ...more }), 'the cause').text

  it('holds the command, its end, the cause and what passed, and no frame of the runner', () => {
    const text = told(
      [
        '✔ loads (0.1ms)',
        '✖ adds (1.2ms)',
        "  AssertionError [ERR_ASSERTION]: 'wrong' == 'right'",
        '      at Test.run (node:internal/test_runner/test:1:1)',
        '      at TestContext.<anonymous> (sum.test.js:4:2)',
        "    actual: 'wrong',",
      ].join('\n'),
      { passed: ['npm run lint'] },
    )
    expect(text).toContain('npm test (exit status 1)')
    expect(text).toContain("'wrong' == 'right'")
    expect(text).toContain('sum.test.js:4:2')
    expect(text).toContain('Passed: npm run lint')
    expect(text).not.toContain('node:internal')
    expect(text).not.toContain('✔ loads')
  })

  it('names the cause where nothing was printed', () => {
    expect(told('', { stderr: '' })).toContain('Cause: the cause')
  })

  it('is bounded whatever is printed, and says what is left out', () => {
    const lines = Array.from({ length: 5_000 }, (_, at) => `Error number ${at}: ${'x'.repeat(at % 400)}`)
    const text = told(lines.join('\n'), {
      failing: { items: lines, areTests: true },
      passed: lines,
    })
    expect(text.length).toBeLessThanOrEqual(feedbackLimit)
    expect(text).toContain('Error number 0')
    expect(text).toContain('Error number 4999')
    expect(text).toMatch(/\[\d+ lines left out\]/)
    expect(text).toMatch(/- and \d+ more/)
    fc.assert(
      fc.property(fc.string({ maxLength: 9_000 }), (stdout) => {
        expect(told(stdout).length).toBeLessThanOrEqual(feedbackLimit)
      }),
    )
  })
})

it('only a strict subset is less', () => {
  expect(isStrictlyLess(['a'], ['a', 'b'])).toBe(true)
  expect(isStrictlyLess(['a', 'b'], ['a', 'b'])).toBe(false)
  expect(isStrictlyLess(['c'], ['a', 'b'])).toBe(false)
  expect(isStrictlyLess(['a', 'a'], ['a', 'b', 'b'])).toBe(false)
})
