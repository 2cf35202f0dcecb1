/** The spans of a run, made of its events: when each has ended, and what is in it. */
import { expect, test } from 'vitest'
import type { Launch, Run } from '../../domain/run.ts'
import type { StoredEvent } from '../../store/event.ts'
import type { Recovery } from '../../store/recovery.ts'
import { recoverySpan, runSpans, type RunHistory } from './trace-spans.ts'

const at = (second: number): Date => new Date(second * 1000)

const launch = (number: number, second: number): Launch =>
  ({ number, startedAt: at(second).toISOString(), spend: { tokens: 7, costUsd: 0.5, seconds: 1 } }) as Launch

const phase = (second: number, from: string, to: string): StoredEvent =>
  ({ id: second, at: at(second), type: 'run.phase', runId: 'r-1', payload: { from, to } }) as unknown as StoredEvent

const failed = (second: number): StoredEvent =>
  ({ id: second, at: at(second), type: 'run.failed', runId: 'r-1', payload: {} }) as unknown as StoredEvent

const run = (more: Partial<Run> = {}): Run =>
  ({
    ...{ id: 'r-1', goalId: 'g-1', taskId: 't-1', number: 1, harness: 'codex', startedAt: at(1), endedAt: null },
    ...{ launches: [launch(1, 3)], verdict: null, errorMeta: null, spend: { tokens: 7, costUsd: 0.5, seconds: 1 } },
    ...more,
  }) as Run

const recovery = (second: number, more: Partial<Recovery> = {}): Recovery =>
  ({
    ...{ id: 'rec-1', goalId: 'g-1', taskId: 't-1', runId: 'r-1', label: 'test_failure', playbook: 'check-feedback' },
    ...{ rung: 4, scope: 'launch', status: 'failed', action: { name: 'x' }, startedAt: at(second), decidedAt: at(20) },
    ...more,
  }) as Recovery

const spans = (
  more: Partial<RunHistory>,
): [key: string, from: number, to: number, eventId: number, problem: unknown][] =>
  runSpans({ run: run(), events: [], recoveries: [], clean: (text) => text, ...more }).map(({ span, eventId }) => [
    span.key,
    ...([span.startedAt.getTime() / 1000, span.endedAt.getTime() / 1000, eventId, span.problem] as const),
  ])

const begun = [phase(2, 'prepare', 'launch'), phase(4, 'launch', 'supervise')]
const checked = [...begun, phase(6, 'supervise', 'collect'), phase(7, 'collect', 'verify')]

test('a launch has ended when its supervision has, and not before', () => {
  expect(spans({ events: begun })).toEqual([])
  expect(spans({ events: [...begun, phase(6, 'supervise', 'collect')] })).toEqual([['launch r-1 1', 3, 6, 6, null]])
})

test('an agent that could not start is a launch of its own, and what was tried then is its problem', () => {
  const events = [...begun.slice(0, 1), phase(5, 'launch', 'supervise'), failed(9)]
  const twice = run({
    launches: [launch(1, 3), launch(2, 4.5)],
    errorMeta: { failureCode: 'no_login' } as Run['errorMeta'],
  })
  expect(spans({ run: twice, events, recoveries: [recovery(3.5)] })).toEqual([
    ['launch r-1 1', 3, 4.5, 5, 'test_failure'],
    ['launch r-1 2', 4.5, 9, 9, 'no_login'],
    ['run r-1', 1, 9, 9, 'no_login'],
  ])
})

test('each pass of the checks is a span, with the class of the recovery that it led to', () => {
  const events = [
    ...checked,
    phase(8, 'verify', 'launch'),
    phase(11, 'collect', 'verify'),
    phase(12, 'verify', 'policy'),
  ]
  const found = spans({ events, recoveries: [recovery(7.5)] }).filter(([key]) => key.startsWith('check'))
  expect(found).toEqual([
    ['check r-1 1', 7, 8, 8, 'test_failure'],
    ['check r-1 2', 11, 12, 12, null],
  ])
})

test('commands of checks are redacted, and no message of a failure is sent', () => {
  const errorMeta = { failureCode: 'test_failure', failedCommand: 'login word', message: 'word', evidence: 'word' }
  const clean = (text: string): string => text.replace('word', '[redacted]')
  const ended = runSpans({
    ...{
      run: run({ errorMeta: errorMeta as Run['errorMeta'] }),
      events: [...checked, failed(9)],
      recoveries: [],
      clean,
    },
  })
  const check = ended.find(({ span }) => span.name === 'check')?.span
  expect(check?.attributes['unstuck.check.failed_command']).toBe('login [redacted]')
  const checks = [
    { command: 'login word', exitCode: 0 },
    { command: 'b', exitCode: null },
  ]
  const passed = runSpans({
    ...{ run: run({ verdict: { outcome: 'verified', checks } as Run['verdict'] }), recoveries: [], clean },
    events: [...checked, phase(9, 'verify', 'policy')],
  })
  expect(passed.find(({ span }) => span.name === 'check')?.span.attributes).toMatchObject({
    'unstuck.check.commands': ['login [redacted]', 'b'],
    'unstuck.check.exit_codes': ['0', 'none'],
  })
  expect(JSON.stringify([...ended, ...passed])).not.toContain('word')
})

test('a recovery that outlives its run is in the task', () => {
  const ended = { at: at(20), type: 'recovery' }
  expect(recoverySpan(recovery(5), ended)).toMatchObject({ parent: 'run r-1', problem: 'test_failure' })
  expect(recoverySpan(recovery(5, { scope: 'task', status: 'success' }), ended)).toMatchObject({
    ...{ parent: 'task t-1', problem: null, startedAt: at(5), endedAt: at(20) },
  })
})
