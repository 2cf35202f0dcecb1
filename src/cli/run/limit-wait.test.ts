import { describe, expect, it } from 'vitest'
import type { TaskView } from '../../api/contract.ts'
import { limitWait } from './limit-wait.ts'

const at = '2026-11-24T23:00:00.000Z'
const task = (id: string, status: string, more: object = {}): TaskView =>
  ({ id, status, harness: 'claude', dependsOn: [], nextStep: null, ...more }) as unknown as TaskView

const parked = task('t-1', 'blocked(quota_wait)', { nextStep: { owner: 'cycle manager', text: '', at } })
const held = task('t-1', 'queued', { nextStep: { owner: 'dispatcher', text: '', at, waitsFor: 'account_limit' } })

describe('the limit for which run --no-wait exits', () => {
  it('is that of a task that waits for its account', () => {
    expect(limitWait({ tasks: [parked, task('t-2', 'done')] })).toEqual({
      harness: 'claude',
      until: Date.parse(at),
    })
  })
  it('is that of a task that cannot start, with its dependants', () => {
    const tasks = [held, task('t-2', 'queued', { harness: 'codex', dependsOn: ['t-1'] })]
    expect(limitWait({ tasks })).toEqual({ harness: 'claude', until: Date.parse(at) })
  })
  it('is that of tokens per hour, which concerns every harness', () => {
    const nextStep = { owner: 'dispatcher', text: '', at, waitsFor: 'hour_tokens' }
    const tasks = [task('t-1', 'queued', { nextStep }), task('t-2', 'queued', { harness: 'codex', nextStep })]
    expect(limitWait({ tasks })).toEqual({ harness: null, until: Date.parse(at) })
  })
  it.each([
    ['another task runs', [parked, task('t-2', 'running', { harness: 'codex' })]],
    ['another task can start', [parked, task('t-2', 'queued', { harness: 'codex' })]],
    ['a retry has its own time', [task('t-1', 'failed')]],
    ['all is done', [task('t-1', 'done')]],
  ])('is none if %s', (_name, tasks) => {
    expect(limitWait({ tasks })).toBeUndefined()
  })
})
