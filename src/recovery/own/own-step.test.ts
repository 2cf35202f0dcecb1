/** What the owner's playbooks decide, and in which order. */
import { expect, test } from 'vitest'
import type { Evidence } from '../evidence.ts'
import { diagnose } from '../diagnosis.ts'
import { playbooks, type LadderSettings } from '../ladder.ts'
import type { PastRecovery } from '../playbook.ts'
import { readOwnPlaybook, type OwnPlaybook } from './own-playbook.ts'
import { isOwnStep, ownTurn, type OwnTurn } from './own-step.ts'

const retry = {
  ...{ transientBaseSeconds: 1, transientMaxSeconds: 1, transientLimit: 3 },
  ...{ quotaBaseSeconds: 1, quotaMaxSeconds: 1 },
}

const made = (action: object, change: object = {}): OwnPlaybook => {
  const read = readOwnPlaybook(JSON.stringify({ title: 'T', evidence: { pattern: 'down' }, action, ...change }))
  if (!read.ok) throw new Error(read.problem)
  return read.playbook
}

const wait = (change: object = {}): OwnPlaybook => made({ type: 'wait', seconds: 5 }, change)
const run = (change: object = {}): OwnPlaybook => made({ type: 'run', command: 'make db' }, change)

const evidence: Evidence = {
  kind: 'check',
  check: {
    ...{ command: 'npm test', source: 'task', exitCode: 1, signal: null, timedOut: false, remaining: 0 },
    ...{ stdout: '', stderr: 'the database is down' },
  },
}

interface Asked {
  own: Record<string, OwnPlaybook>
  history?: PastRecovery[]
  settings?: Partial<NonNullable<LadderSettings['own']>>
  disabled?: string[]
  of?: Evidence
}

const turn = ({ own, history = [], settings, disabled = [], of = evidence }: Asked): OwnTurn | undefined =>
  ownTurn({
    ...{ evidence: of, diagnosis: diagnose(of), history },
    policy: {
      ...{ playbooks, disabled, retry },
      own: { playbooks: own, mayPropose: true, canUse: () => true, ...settings },
    },
    task: { id: 't-1', runId: 'r-1', harness: 'codex' },
  })

const past = (playbook: string, change: Partial<PastRecovery> = {}): PastRecovery => ({
  ...{ runId: 'r-0', playbook, label: 'other', actionKey: `${playbook} 1`, status: 'failed', counted: false },
  ...change,
})

test('a wait is for the checks, is recorded under its name, and is not among the recoveries of the task', () => {
  const found = turn({ own: { db: wait() } })
  expect(found?.step).toMatchObject({
    ...{
      kind: 'recover',
      playbook: { id: 'own:db', counted: false },
      postCondition: { type: 'remaining_checks_pass' },
    },
    action: { type: 'wait', delayMs: 5000, count: 1, limit: 3, forChecks: true },
  })
  expect(found?.diagnosis.evidence).toContain('own:db found: the database is down')
  expect(found?.step && isOwnStep(found.step)).toBe(true)
})

test('the budget counts over all labels; after it the next one goes on, or a person is asked', () => {
  const history = [past('own:a'), past('own:a', { label: 'check_failed' }), past('own:a')]
  expect(turn({ own: { a: wait() }, history })).toBeUndefined()
  expect(turn({ own: { a: wait(), b: wait() }, history })?.step).toMatchObject({ playbook: { id: 'own:b' } })
  expect(turn({ own: { a: wait({ then: 'ask' }), b: wait() }, history })?.step).toMatchObject({
    ...{ kind: 'exhausted', then: 'escalate', question: { name: 'a' } },
  })
})

test('a command goes before what follows, only where commands may be proposed, and as often as its budget says', () => {
  expect(turn({ own: { a: run(), b: wait() } })).toMatchObject({
    proposes: { name: 'a', attempt: 1, action: { command: 'make db' } },
    step: { playbook: { id: 'own:b' } },
  })
  expect(turn({ own: { a: run() }, settings: { mayPropose: false } })).toBeUndefined()
  expect(turn({ own: { a: run() }, history: [past('own:a')] })).toBeUndefined()
  expect(turn({ own: { a: run({ then: 'ask' }) }, history: [past('own:a')] })?.step).toMatchObject({
    question: { name: 'a' },
  })
})

test('a hint is another action than the built-in feedback, and is not repeated without effect', () => {
  const own = { a: made({ type: 'hint', text: 'Look at the port.' }, { budget: 2 }) }
  const first = turn({ own })?.step
  if (first?.kind !== 'recover') throw new Error('no hint')
  expect(first.action).toMatchObject({ type: 'relaunch', hint: expect.stringContaining('Look at the port.') as string })
  expect(first.actionKey).toContain('own a')
  expect(turn({ own, history: [past('own:a', { actionKey: first.actionKey })] })).toBeUndefined()
})

test('another harness is taken only if a task may be given to it', () => {
  const own = { a: made({ type: 'switch_harness', harness: 'gemini' }) }
  expect(turn({ own })?.step).toMatchObject({ action: { type: 'switch_harness', harness: 'gemini' } })
  expect(turn({ own, settings: { canUse: () => false } })).toBeUndefined()
})

test('what is blamed on the environment is left to the built-in playbooks for it', () => {
  const found = turn({ own: { a: made({ type: 'blame_environment' }) } })
  expect(found?.step).toBeUndefined()
  expect(found?.diagnosis).toMatchObject({ label: 'service_unavailable', category: 'env' })
  expect(found?.diagnosis.facts).not.toHaveProperty('feedback')
})

test('a question needs no budget, and one that is disabled asks nothing', () => {
  const own = { a: made({ type: 'ask', question: 'Why?' }) }
  expect(turn({ own })?.step).toMatchObject({ question: { text: 'Why?' } })
  expect(turn({ own, disabled: ['own:a'] })).toBeUndefined()
})

test("an agent's error: what its CLI reports is matched, and the next launch shows whether it helped", () => {
  const of: Evidence = {
    ...{ kind: 'launch', harness: 'codex', denials: [] },
    failure: { source: 'event', text: 'gateway: the proxy is down' },
  }
  expect(turn({ own: { a: wait() }, of })).toBeUndefined()
  const found = turn({ own: { a: wait({ match: { failure: 'agent' } }) }, of })
  expect(found?.step).toMatchObject({ postCondition: { type: 'provider_answers' } })
  expect(found?.step).not.toMatchObject({ action: { forChecks: true } })
})
