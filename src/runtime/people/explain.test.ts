import { expect, it } from 'vitest'
import type { StoredEvent } from '../../store/event.ts'
import { storyOf } from './explain.ts'

const event = (type: string, payload: object, taskId = 't-1'): StoredEvent =>
  ({ id: 1, type, at: new Date(0), goalId: 'g-1', taskId, runId: null, payload }) as unknown as StoredEvent

const refused = { label: 'TOOL_DENIED', evidence: 'refused' }

it('tells a refusal once where it ends in a question', () => {
  const asked = event('escalation.opened', { question: 'May it?', happened: 'Claude was refused a command.' })
  const events = [event('task.escalated', refused), event('task.recovery_escalated', refused), asked]
  expect(storyOf(events).map(({ text }) => text)).toEqual([expect.stringContaining('Claude was refused a command.')])
})

it('tells why a task was given up where no question was asked', () => {
  expect(storyOf([event('task.recovery_escalated', refused)])).toHaveLength(1)
})
