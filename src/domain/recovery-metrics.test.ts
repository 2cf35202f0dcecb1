import { expect, test } from 'vitest'
import { countRecoveryEvent, noRecoveries, recoveryMetrics, type MetricEvent } from './recovery-metrics.ts'

const metricsOf = (...events: [type: string, payload: Record<string, unknown>, second?: number][]) => {
  const tally = noRecoveries()
  for (const [type, payload, second = 0] of events) {
    const event: MetricEvent = { type, payload, at: new Date(second * 1000), taskId: 't-1' }
    countRecoveryEvent(tally, event)
  }
  return recoveryMetrics(tally)
}

const command = 'npm ci'

test('without a proposal there is nothing to divide by', () => {
  expect(metricsOf(['run.started', {}])).toEqual({
    ...{ recovery_proposals: 0, auto_recoveries: { succeeded: 0, failed: 0 }, auto_recovery_success_rate: null },
    ...{ escalations: 0, escalation_frequency: null, time_to_resolution_ms: null, categories: [] },
  })
})

test('only commands that ran without a person count for the success rate, and one without effect failed', () => {
  const metrics = metricsOf(
    ['recovery_approved', { source: 'auto', command }],
    ['recovery_executed', { command, exit_code: 0 }],
    ['recovery_approved', { source: 'auto', command }],
    ['recovery_executed', { command, exit_code: 0 }],
    ['recovery_failed', { command, exit_code: 0, error: 'no effect' }],
    ['recovery_approved', { source: 'on_unknown', command: 'make' }],
    ['recovery_failed', { command: 'make', exit_code: 2, error: '' }],
    ['recovery_approved', { source: 'human', command: 'curl x' }],
    ['recovery_executed', { command: 'curl x', exit_code: 0 }],
    ['recovery_failed', { command: 'curl x', exit_code: 0, error: 'no effect' }],
  )
  expect(metrics).toMatchObject({ auto_recoveries: { succeeded: 1, failed: 2 }, auto_recovery_success_rate: 1 / 3 })
})

test('a command that helped and fails where it is repeated in a later clone succeeded', () => {
  const observed = { action_taken: 'RUN_PROPOSED_COMMAND', status: 'success' }
  const metrics = metricsOf(
    ['recovery_approved', { source: 'auto', command }],
    ['recovery_executed', { command, exit_code: 0 }],
    ['recovery', observed],
    ['recovery_failed', { command, exit_code: 1, error: '' }],
    ['recovery_executed', { command, exit_code: 0 }],
  )
  expect(metrics).toMatchObject({ auto_recoveries: { succeeded: 1, failed: 0 } })
})

test('the most common category is first, and only questions about proposals count', () => {
  const metrics = metricsOf(
    ['recovery_proposed', { category: 'network' }],
    ['recovery_proposed', { category: 'dependency' }],
    ['recovery_proposed', { category: 'dependency' }],
    ['recovery_proposed', { category: 'config' }],
    ['escalation.opened', { escalation: 'q1', kind: 'recovery_approval_required' }, 10],
    ['escalation.opened', { escalation: 'q2', kind: 'invalid_proposal' }, 10],
    ['escalation.opened', { escalation: 'q3', kind: 'exhausted' }, 10],
    ['escalation.answered', { escalation: 'q1' }, 70],
    ['escalation.answered', { escalation: 'q3' }, 1000],
  )
  expect(metrics).toMatchObject({
    ...{ recovery_proposals: 4, escalations: 2, escalation_frequency: 0.5, time_to_resolution_ms: 60_000 },
    categories: [
      { category: 'dependency', count: 2 },
      { category: 'config', count: 1 },
      { category: 'network', count: 1 },
    ],
  })
})
