import { describe, expect, it } from 'vitest'
import { diagnose } from './diagnosis.ts'
import { playbook } from './playbook.ts'
import type { Finding } from './types.ts'

const context = {
  ...{ attempts: 0, taskId: 't' },
  retry: {
    ...{ transientBaseSeconds: 1, transientMaxSeconds: 1, transientLimit: 1 },
    ...{ quotaBaseSeconds: 1, quotaMaxSeconds: 1 },
  },
}

const base = {
  id: 'x',
  title: 'x',
  neededEvidence: 'x',
  rung: 4,
  scope: 'run',
  budget: 1,
  counted: true,
  postCondition: () => ({ type: 'session_opens' }) as const,
} as const

const failed = diagnose({
  kind: 'check',
  check: {
    ...{ command: 'npm test', source: 'task', exitCode: 1, signal: null, timedOut: false },
    ...{ stdout: '', stderr: '3 failing', remaining: 0 },
  },
})

describe('a playbook', () => {
  const drop = playbook({
    ...base,
    labels: ['test_failure'],
    plan: ({ facts }) => ({ type: 'drop_command', name: 'DROP_COMMAND', command: facts.command }),
  })

  it('plans for the labels that it answers, and nothing for another', () => {
    expect(drop.plan(failed, context)).toMatchObject({ command: 'npm test' })
    expect(drop.plan(diagnose({ kind: 'budget', text: 'spent' }), context)).toBeUndefined()
  })

  it('answers labels that exist and reads facts that they have: the compiler refuses the rest', () => {
    // @ts-expect-error no label is written like this
    const misspelt = playbook({ ...base, labels: ['test_failures'], plan: () => undefined })
    // @ts-expect-error a failed test has no order of commands to offer
    const unknownFact = playbook({ ...base, labels: ['test_failure'], plan: ({ facts }) => facts.order && undefined })
    const { facts: _facts, signature: _signature, label: _label, ...row } = failed
    // @ts-expect-error without its command no playbook can act on a failed check
    const lacksFact: Finding = { ...row, label: 'check_failed', facts: { remaining: 0 } }
    expect([misspelt.id, unknownFact.id, lacksFact.label]).toEqual(['x', 'x', 'check_failed'])
  })
})
