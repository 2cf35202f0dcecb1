import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { diagnose } from './diagnosis.ts'
import type { AnyFacts, Diagnosis } from './types.ts'
import type { Evidence, ObservedDenial, ObservedStall } from './evidence.ts'
import { nextStep, playbooks, totalBudget, type LadderSettings, type LadderStep } from './ladder.ts'
import { actionKeyOf, type Action, type PastRecovery } from './playbook.ts'
import { transientDelayMs, quotaWait } from './playbooks/provider.ts'
import { samples } from '../../test/support/samples.ts'

const policy: LadderSettings = {
  playbooks,
  disabled: [],
  retry: {
    transientBaseSeconds: 120,
    transientMaxSeconds: 3600,
    transientLimit: 5,
    quotaBaseSeconds: 120,
    quotaMaxSeconds: 1800,
  },
}
const task = { id: 't', runId: 'r1' }

const trust = diagnose({
  kind: 'launch',
  harness: 'codex',
  failure: { source: 'stderr', type: 'git_trust', text: 'Not inside a trusted directory' },
  denials: [],
})
const scope = (directory: string, allowedBy?: string): Diagnosis =>
  diagnose({
    kind: 'denial',
    harness: 'claude',
    because: 'nothing changed',
    denials: [
      {
        kind: 'scope',
        tool: 'Write',
        text: 'Access blocked',
        directory,
        ...(allowedBy === undefined ? {} : { allowedBy }),
      },
    ],
  })
const overload = diagnose({
  kind: 'launch',
  harness: 'claude',
  failure: { source: 'event', type: 'overloaded', text: '529' },
  denials: [],
})
const missingScript = (command: string, remaining: number): Diagnosis =>
  diagnose({
    kind: 'check',
    check: {
      command,
      source: 'task',
      exitCode: 1,
      signal: null,
      timedOut: false,
      stdout: '',
      stderr: '',
      script: { name: 'lint', manifest: 'package.json', exists: false },
      remaining,
    },
  })

const stalled = (tree: string, kind: ObservedStall['kind'] = 'silence', call?: string): Diagnosis =>
  diagnose({
    kind: 'stall',
    stall: { kind, text: 'it was silent', tree, changed: ['a.txt'], ...(call === undefined ? {} : { call }) },
  })

type Recover = Extract<LadderStep, { kind: 'recover' }>

const recover = (step: LadderStep): Recover => {
  if (step.kind !== 'recover') throw new Error(step.reason)
  return step
}

const past = (step: LadderStep, status: PastRecovery['status'], label: string, runId = 'r1'): PastRecovery => {
  const { playbook, actionKey } = recover(step)
  return { runId, playbook: playbook.id, label, actionKey, status, counted: playbook.counted }
}

describe('a permission problem', () => {
  it('of trust is answered by RELAUNCH_WITH_SKIP_GIT_CHECK, without a session to resume', () => {
    const step = recover(nextStep(trust, [], policy, task))
    expect(step).toMatchObject({
      action: { type: 'relaunch', name: 'RELAUNCH_WITH_SKIP_GIT_CHECK', skipGitCheck: true, resume: false },
      postCondition: { type: 'session_opens' },
      attempt: 1,
    })
    expect(step.playbook.scope).toBe('launch')
  })

  it('of scope is answered by the refused directory, if it is an allowed one', () => {
    expect(nextStep(scope('/data/x', '/data'), [], policy, task)).toMatchObject({
      action: { addDir: '/data/x', resume: true },
      postCondition: { type: 'directory_usable', directory: '/data/x' },
    })
  })

  it('of scope outside the allowed directories pauses the goal and grants nothing', () => {
    expect(nextStep(scope('/etc'), [], policy, task)).toMatchObject({ kind: 'exhausted', then: 'pause_goal' })
  })

  it('is not answered by the same correction twice', () => {
    const first = nextStep(trust, [], policy, task)
    expect(nextStep(trust, [past(first, 'failed', trust.label)], policy, task)).toMatchObject({
      kind: 'exhausted',
      then: 'pause_goal',
      reason: 'git-trust-relaunch already tried the same action',
    })
    // Neither within one run, whatever became of it, nor in a later run when it failed.
    expect(nextStep(trust, [past(first, 'success', trust.label)], policy, task).kind).toBe('exhausted')
    expect(nextStep(trust, [past(first, 'failed', trust.label)], policy, { ...task, runId: 'r2' }).kind).toBe(
      'exhausted',
    )
  })

  it('of a later run is answered again by what helped, because grants end with their run', () => {
    const first = nextStep(trust, [], policy, task)
    const step = nextStep(trust, [past(first, 'success', trust.label)], policy, { ...task, runId: 'r2' })
    expect(step).toMatchObject({ kind: 'recover', attempt: 2 })
  })

  it('is answered by another directory, at most three times', () => {
    const history: PastRecovery[] = []
    for (const directory of ['/data/a', '/data/b', '/data/c']) {
      const diagnosis = scope(directory, '/data')
      history.push(past(nextStep(diagnosis, history, policy, task), 'failed', diagnosis.label))
    }
    expect(nextStep(scope('/data/d', '/data'), history, policy, task)).toMatchObject({
      kind: 'exhausted',
      reason: 'directory-scope-relaunch was tried 3 times',
    })
  })
})

describe('a refused tool call', () => {
  const refused = (toolRules?: string[]): Diagnosis =>
    diagnose({
      ...{ kind: 'denial', harness: 'claude', because: 'nothing changed' },
      denials: [
        { kind: 'tool', tool: 'Bash', text: 'curl', target: 'curl x' },
        { kind: 'tool', tool: 'Bash', text: 'npm test', ...(toolRules === undefined ? {} : { toolRules }) },
      ],
    })

  it('is answered by the rule that was found for it', () => {
    expect(nextStep(refused(['Bash(npm test:*)']), [], policy, task)).toMatchObject({
      playbook: { id: 'tool-rule-relaunch' },
      action: { name: 'RELAUNCH_WITH_TOOL_RULE', toolRules: ['Bash(npm test:*)'], resume: true },
      postCondition: { type: 'tool_allowed', toolRules: ['Bash(npm test:*)'] },
    })
  })

  it('for which there is none pauses the goal', () => {
    expect(nextStep(refused(), [], policy, task)).toMatchObject({ kind: 'exhausted', then: 'pause_goal' })
  })
})

describe('a folder that cannot be used', () => {
  const folder = { path: '/repo', problem: 'no access', mode: 0o2070, isOurs: true } as const
  const before = (more: object = {}): Diagnosis => diagnose({ kind: 'directory', directory: { ...folder, ...more } })
  const during = (more: object = {}): Diagnosis =>
    diagnose({
      ...{ kind: 'denial', harness: 'claude', because: 'nothing changed' },
      denials: [
        { kind: 'filesystem', tool: 'Write', text: 'EACCES', directory: '/repo', unusable: { ...folder, ...more } },
      ],
    })

  it('gets the bits of its owner: before the launch at once, refused to the agent by a relaunch', () => {
    const modes = { directory: '/repo', oldMode: '2070', newMode: '2770' }
    expect(nextStep(before(), [], policy, task)).toMatchObject({
      playbook: { id: 'owner-bits', rung: 0 },
      action: { type: 'chmod', ...modes },
      postCondition: { type: 'directory_accessible', directory: '/repo' },
    })
    expect(nextStep(during(), [], policy, task)).toMatchObject({
      playbook: { id: 'owner-bits-relaunch', rung: 1 },
      action: { type: 'relaunch', chmod: modes, resume: true },
      postCondition: { relaunch: true },
    })
  })

  it.each([
    ['it is not ours', { isOurs: false }],
    ['no bit is missing', { mode: 0o700 }],
    ['it did not help before', { failed: 'EPERM' }],
    ['it is missing', { problem: 'missing', mode: undefined }],
  ])('pauses the goal where %s', (_why, more) => {
    for (const diagnosis of [before(more), during(more)])
      expect(nextStep(diagnosis, [], policy, task)).toMatchObject({ kind: 'exhausted', then: 'pause_goal' })
  })

  it('never becomes more open to others than it was', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0o7777 }), (mode) => {
        const { chmod }: AnyFacts = before({ mode }).facts
        return chmod === undefined || (parseInt(chmod.newMode, 8) & ~0o700) === (mode & ~0o700)
      }),
    )
  })
})

describe('a verification command of a missing script', () => {
  it('is dropped while another check remains', () => {
    expect(nextStep(missingScript('npm run lint', 1), [], policy, task)).toMatchObject({
      action: { type: 'drop_command', command: 'npm run lint' },
      postCondition: { type: 'remaining_checks_pass' },
    })
  })

  it('is kept when it is the only check: the agent is asked once for one that can run', () => {
    const only = missingScript('npm run lint', 0)
    const step = recover(nextStep(only, [], policy, task))
    expect(step).toMatchObject({
      action: { type: 'relaunch', name: 'ASK_FOR_COMMAND', ask: 'npm run lint', resume: false },
      postCondition: { type: 'check_runs', command: 'npm run lint' },
    })
    const past = { runId: 'r1', playbook: step.playbook.id, label: only.label, actionKey: step.actionKey }
    expect(nextStep(only, [{ ...past, status: 'failed', counted: true }], policy, task)).toMatchObject({
      kind: 'exhausted',
      then: 'escalate',
    })
  })
})

describe('an overload', () => {
  it('waits with a count and a limit, and is not among the task’s twelve', () => {
    const step = recover(nextStep(overload, [], policy, task))
    expect(step.action).toMatchObject({ type: 'wait', count: 1, limit: 5 })
    expect(step.playbook.counted).toBe(false)
  })

  it('waits as often as configured, then asks', () => {
    const history: PastRecovery[] = []
    for (let count = 1; count <= 5; count += 1) {
      const step = nextStep(overload, history, policy, task)
      expect(recover(step).action).toMatchObject({ count })
      history.push(past(step, 'failed', overload.label))
    }
    expect(nextStep(overload, history, policy, task)).toMatchObject({ kind: 'exhausted', then: 'escalate' })
  })

  it('never waits with a limit of 0', () => {
    const none = { ...policy, retry: { ...policy.retry, transientLimit: 0 } }
    expect(nextStep(overload, [], none, task).kind).toBe('exhausted')
  })

  it('with a lifted limit still ends', () => {
    const lifted = { ...policy, retry: { ...policy.retry, transientLimit: -1 } }
    const history = Array.from({ length: 100 }, () =>
      past(nextStep(overload, [], lifted, task), 'failed', overload.label),
    )
    expect(nextStep(overload, history, lifted, task).kind).toBe('exhausted')
  })
})

describe('a limit of the account', () => {
  const said = new Date('2026-11-21T21:00:00Z')
  const limited = (resetAt?: Date): Diagnosis =>
    diagnose({
      kind: 'launch',
      harness: 'claude',
      failure: {
        ...{ source: 'event', type: 'usage_limit', text: "You've hit your limit" },
        messageTime: { at: said, timeZone: 'UTC' },
        ...(resetAt === undefined ? {} : { resetAt }),
      },
      denials: [],
    })
  const wait = (diagnosis: Diagnosis, history: PastRecovery[] = []) => {
    const { action } = recover(nextStep(diagnosis, history, policy, task))
    if (action.type !== 'wait') throw new Error(action.type)
    return action
  }
  const waits = (length: number): PastRecovery[] =>
    Array.from({ length }, () => past(nextStep(limited(), [], policy, task), 'failed', 'llm_quota'))

  it('waits until it resets, and a little longer, but not for all tasks equally', () => {
    const resetAt = new Date(said.getTime() + 3 * 3600 * 1000)
    expect(wait(limited(resetAt))).toMatchObject({
      ...{ name: 'WAIT_FOR_QUOTA', delayMs: 0, until: resetAt.toISOString(), count: 1 },
    })
    const jitters = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => {
      const { action } = recover(nextStep(limited(resetAt), [], policy, { id, runId: 'r1' }))
      return action.type === 'wait' ? action.jitterMs : undefined
    })
    expect(new Set(jitters).size).toBeGreaterThan(3)
    for (const jitter of jitters) expect(jitter).toBeGreaterThanOrEqual(1_000)
    for (const jitter of jitters) expect(jitter).toBeLessThanOrEqual(60_000)
  })

  it('without a reset time waits longer each time, up to the maximum', () => {
    const delays = [0, 1, 2, 3, 4, 9].map((count) => wait(limited(), waits(count)).delayMs / 1000)
    expect(delays).toEqual(delays.toSorted((a, b) => a - b))
    expect(delays[0]).toBeGreaterThanOrEqual(120)
    expect(delays[0]).toBeLessThanOrEqual(144)
    expect(delays.at(-1)).toBe(1800)
    expect(wait(limited())).not.toHaveProperty('until')
  })

  it('whose time turns out to be wrong again and again is not believed for ever', () => {
    const soon = new Date(said.getTime() + 1000)
    expect(wait(limited(soon), waits(2)).delayMs).toBe(0)
    expect(wait(limited(soon), waits(3)).delayMs).toBeGreaterThanOrEqual(120_000)
  })

  it('does not count towards the task’s twelve recoveries, and asks a person only after a long time', () => {
    const step = recover(nextStep(limited(), waits(99), policy, task))
    expect(step.playbook).toMatchObject({ id: 'quota-wait', counted: false })
    expect(nextStep(limited(), waits(100), policy, task)).toMatchObject({ kind: 'exhausted', then: 'escalate' })
  })

  it('an overload waits as long as the server states, but not less than the backoff', () => {
    const overloadUntil = diagnose({
      kind: 'launch',
      harness: 'opencode',
      failure: {
        ...{ source: 'event', type: 'overloaded', text: 'Overloaded', resetAt: new Date(said.getTime() + 5000) },
        messageTime: { at: said, timeZone: 'UTC' },
      },
      denials: [],
    })
    const action = wait(overloadUntil)
    expect(action).toMatchObject({ name: 'WAIT_AND_REQUEUE', until: '2026-11-21T21:00:05.000Z' })
    expect(action.delayMs).toBeGreaterThanOrEqual(120_000)
  })
})

describe('the total of a task', () => {
  const counted = (length: number): PastRecovery[] =>
    Array.from({ length }, (_, index) => ({
      runId: 'r0',
      playbook: 'other',
      label: 'other',
      actionKey: `k${index}`,
      status: 'success' as const,
      counted: true,
    }))

  it('is twelve', () => {
    expect(totalBudget).toBe(12)
    expect(nextStep(trust, counted(11), policy, task).kind).toBe('recover')
    expect(nextStep(trust, counted(12), policy, task)).toMatchObject({
      kind: 'exhausted',
      reason: 'the task has used its 12 recoveries',
    })
  })

  it('does not stop a wait', () => {
    expect(nextStep(overload, counted(12), policy, task).kind).toBe('recover')
  })
})

describe('policy', () => {
  it('a disabled playbook does not apply, and the reason names it', () => {
    const step = nextStep(trust, [], { ...policy, disabled: ['git-trust-relaunch'] }, task)
    expect(step).toMatchObject({ kind: 'exhausted', reason: 'git-trust-relaunch is disabled' })
  })

  it('a label without a playbook asks a person at once', () => {
    const spent = diagnose({ kind: 'budget', text: 'it is spent' })
    expect(nextStep(spent, [], policy, task)).toMatchObject({
      kind: 'exhausted',
      then: 'escalate',
      reason: 'no playbook handles budget',
    })
  })

  it('playbooks have unique ids, a finite budget and a description of their evidence', () => {
    expect(new Set(playbooks.map((playbook) => playbook.id)).size).toBe(playbooks.length)
    for (const playbook of playbooks) {
      expect(playbook.budget).toBeGreaterThan(0)
      expect(playbook.budget).toBeLessThanOrEqual(100)
      expect(playbook.neededEvidence).not.toBe('')
      expect(playbook.labels.length).toBeGreaterThan(0)
    }
  })
})

describe('an agent that hangs', () => {
  it('is restarted in its session, then in new ones, each time with another hint, five times', () => {
    const history: PastRecovery[] = []
    const actions: Extract<Action, { type: 'relaunch' }>[] = []
    for (let number = 1; number <= 5; number += 1) {
      const diagnosis = stalled('tree', 'silence', 'Bash: npm ci')
      const step = recover(nextStep(diagnosis, history, policy, task))
      if (step.action.type !== 'relaunch') throw new Error('no relaunch')
      expect(step).toMatchObject({ attempt: number, postCondition: { type: 'agent_gets_on', tree: 'tree' } })
      actions.push(step.action)
      history.push(past(step, 'failed', diagnosis.label))
    }
    expect(actions.map(({ resume }) => resume)).toEqual([true, false, false, false, false])
    expect(new Set(actions.map(({ hint }) => hint)).size).toBe(5)
    expect(actions[0]?.hint).toContain('because it was silent')
    expect(actions[0]?.hint).toContain('a.txt')
    expect(actions[1]?.hint).toContain('find another way: Bash: npm ci')
    expect(nextStep(stalled('tree'), history, policy, task)).toMatchObject({
      kind: 'exhausted',
      then: 'escalate',
      reason: expect.stringContaining('stall-restart was tried 5 times'),
    })
  })

  it('without having changed anything is asked once more, in its session, and then a person is', () => {
    const nothing = diagnose({ kind: 'noChange', because: 'npm test does not pass', tree: 't' })
    const step = nextStep(nothing, [], policy, task)
    expect(step).toMatchObject({
      action: { type: 'relaunch', resume: true, hint: expect.stringContaining('npm test does not pass') },
      postCondition: { type: 'work_appears' },
    })
    expect(nextStep(nothing, [past(step, 'failed', nothing.label)], policy, task)).toMatchObject({
      kind: 'exhausted',
      reason: 'no-change-restart was tried 1 times',
    })
  })

  it('counts each way of standing still for itself', () => {
    const first = nextStep(stalled('tree'), [], policy, task)
    const history = [past(first, 'failed', 'silence')]
    expect(nextStep(stalled('tree', 'waiting_for_person'), history, policy, task)).toMatchObject({
      attempt: 1,
      action: { hint: expect.stringContaining('Nobody can answer a question') },
    })
  })
})

describe('backoff', () => {
  const retries = fc.record({
    transientBaseSeconds: fc.integer({ min: 1, max: 600 }),
    transientMaxSeconds: fc.integer({ min: 600, max: 7200 }),
    transientLimit: fc.integer({ min: 0, max: 50 }),
    quotaBaseSeconds: fc.integer({ min: 1, max: 600 }),
    quotaMaxSeconds: fc.integer({ min: 600, max: 7200 }),
  })

  it('grows, is bounded and is the same after a restart', () => {
    fc.assert(
      fc.property(retries, fc.string(), fc.nat(2000), (retry, seed, attempt) => {
        const now = transientDelayMs(retry, attempt, seed)
        expect(now).toBe(transientDelayMs(retry, attempt, seed))
        expect(now).toBeGreaterThan(0)
        expect(now).toBeLessThanOrEqual(1000 * retry.transientMaxSeconds)
        expect(transientDelayMs(retry, attempt + 1, seed)).toBeGreaterThanOrEqual(now)
      }),
    )
  })

  it('differs between tasks, so that they do not return in one moment', () => {
    const delays = Array.from({ length: 20 }, (_, index) => transientDelayMs(policy.retry, 1, `task-${index}`))
    expect(new Set(delays).size).toBeGreaterThan(10)
  })
})

describe('action keys', () => {
  it('tell directories, flags, commands and waits apart, and ignore the hint', () => {
    const relaunch: Action = { type: 'relaunch', name: 'X', resume: true, hint: '' }
    const keys = [
      relaunch,
      { ...relaunch, addDir: '/a' },
      { ...relaunch, addDir: '/b' },
      { ...relaunch, skipGitCheck: true as const },
      { ...relaunch, restart: { because: 'silence', number: 1, tree: 't' } },
      { ...relaunch, restart: { because: 'silence', number: 2, tree: 't' } },
      { ...relaunch, restart: { because: 'doom_loop', number: 1, tree: 't' } },
      { type: 'drop_command' as const, name: 'DROP_COMMAND' as const, command: 'a' },
      { type: 'wait' as const, name: 'WAIT_AND_REQUEUE' as const, delayMs: 1, count: 1, limit: 5 },
      { type: 'wait' as const, name: 'WAIT_AND_REQUEUE' as const, delayMs: 1, count: 2, limit: 5 },
    ].map(actionKeyOf)
    expect(new Set(keys).size).toBe(keys.length)
    expect(actionKeyOf({ ...relaunch, hint: 'other', resume: false })).toBe(keys[0])
  })
})

const someEvidence: fc.Arbitrary<Evidence> = fc.oneof(
  fc.record({
    kind: fc.constant('launch' as const),
    harness: fc.constantFrom('claude', 'codex', 'gemini', 'command'),
    failure: fc.record(
      {
        source: fc.constantFrom('event' as const, 'stderr' as const, 'exit' as const),
        type: fc.constantFrom(
          'git_trust',
          'overloaded',
          'network',
          'temporary_failure',
          'usage_limit',
          'bad_exit',
          'new_type',
        ),
        httpStatus: fc.constantFrom(200, 429, 529, 418),
        text: fc.oneof(fc.string(), fc.constantFrom('Access blocked', 'Permission denied', 'Repository check failed')),
      },
      { requiredKeys: ['source', 'text'] },
    ),
    denials: fc.array(fc.constant<ObservedDenial>({ kind: 'scope', tool: 'Read', text: 'no' }), { maxLength: 1 }),
  }),
  fc.record({
    kind: fc.constant('denial' as const),
    harness: fc.constantFrom('claude', 'codex', 'gemini'),
    because: fc.constant('nothing changed' as const),
    denials: fc.array(
      fc.record(
        {
          kind: fc.constantFrom('scope' as const, 'tool' as const, 'filesystem' as const, 'safety' as const),
          tool: fc.string(),
          text: fc.string(),
          directory: fc.constantFrom('/a', '/b', '/c', '/d', '/e'),
          allowedBy: fc.constantFrom('/'),
        },
        { requiredKeys: ['kind', 'tool', 'text'] },
      ),
      { maxLength: 3 },
    ),
  }),
  fc.record({
    kind: fc.constant('check' as const),
    check: fc.record({
      command: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'),
      source: fc.constant('task' as const),
      exitCode: fc.constantFrom(0, 1, 2),
      signal: fc.constant(null),
      timedOut: fc.boolean(),
      stdout: fc.string(),
      stderr: fc.string(),
      script: fc.record({ name: fc.string(), manifest: fc.string(), exists: fc.boolean() }),
      remaining: fc.nat(3),
    }),
  }),
  fc.constant({ kind: 'noChange' as const, because: 'a check fails', tree: 't' }),
  fc.record({
    kind: fc.constant('stall' as const),
    stall: fc.record({
      kind: fc.constantFrom<ObservedStall['kind']>(
        'silence',
        'stuck_after_tool_result',
        'hanging_tool',
        'waiting_for_person',
        'doom_loop',
      ),
      text: fc.string(),
      tree: fc.constantFrom('a', 'b'),
      changed: fc.array(fc.string()),
    }),
  }),
  fc.constant({ kind: 'budget' as const, text: '' }),
)

describe('any sequence of failures', () => {
  it('has a step each time, repeats no failed correction and ends exhausted within the budgets', () => {
    const outcomes = fc.array(fc.constantFrom('success' as const, 'failed' as const), { minLength: 1 })
    fc.assert(
      fc.property(
        fc.array(someEvidence, { minLength: 1 }),
        outcomes,
        fc.nat(5),
        (evidences, results, transientLimit) => {
          const limited = { ...policy, retry: { ...policy.retry, transientLimit } }
          const history: PastRecovery[] = []
          const seen: { runId: string; key: string; status: string }[] = []
          let exhausted = 0
          // Each attempt is a run of its own, the case that allows most.
          for (let attempt = 0; exhausted < evidences.length; attempt += 1) {
            const most = totalBudget + 3 * 5 + quotaWait.budget + 1
            expect(attempt).toBeLessThan(most * (evidences.length + 1) * 2)
            const diagnosis = diagnose(evidences[attempt % evidences.length]!)
            const runId = `r${attempt}`
            const step = nextStep(diagnosis, history, limited, { id: 't', runId })
            if (step.kind === 'exhausted') {
              expect(step.then).toBe(diagnosis.rung === 1 ? 'pause_goal' : 'escalate')
              expect(step.reason).not.toBe('')
              exhausted += 1
              continue
            }
            exhausted = 0
            const status = results[attempt % results.length]!
            if (step.action.type !== 'wait') {
              expect(seen.filter((entry) => entry.key === step.actionKey && entry.status === 'failed')).toEqual([])
            }
            seen.push({ runId, key: step.actionKey, status })
            history.push(past(step, status, diagnosis.label, runId))
          }
          expect(history.filter((entry) => entry.counted).length).toBeLessThanOrEqual(totalBudget)
          for (const label of new Set(history.map((entry) => entry.label))) {
            const waits = history.filter((entry) => entry.label === label && !entry.counted)
            expect(waits.length).toBeLessThanOrEqual(label === 'llm_quota' ? quotaWait.budget : transientLimit)
          }
        },
      ),
      { numRuns: samples(300) },
    )
  })
})

it('a fault of this machine: the checks run again after 5, 30 and 120 s, and then a person is asked; without a probe nothing waits', () => {
  const check = {
    ...{ command: 'npm test', source: 'task', exitCode: 1, signal: null, timedOut: false, stdout: '' },
    stderr: 'Error: listen EADDRINUSE: address already in use 127.0.0.1:3000',
  }
  const held = { probe: 'port', port: 3000, owner: { pid: 7, program: 'node' } }
  const taken = diagnose({ kind: 'check', check: { ...check, measurements: [held] } } as unknown as Evidence)
  const free = diagnose({ kind: 'check', check } as unknown as Evidence)
  const settings = { ...policy, retry: { ...policy.retry, transientBaseSeconds: 30 } }
  const history: PastRecovery[] = []
  const delays: unknown[] = []
  for (let step = nextStep(taken, history, settings, task); step.kind === 'recover';) {
    delays.push((step.action as { delayMs?: number }).delayMs)
    expect(step.action).toMatchObject({ type: 'wait', forChecks: true })
    history.push(past(step, 'failed', 'port_in_use', `r${history.length}`))
    step = nextStep(taken, history, settings, task)
  }
  expect(delays).toEqual([5_000, 30_000, 120_000])
  expect(nextStep(free, [], settings, task)).not.toMatchObject({ action: { type: 'wait' } })
})

it.each([
  ['network_unreachable', 'getaddrinfo EAI_AGAIN registry.internal.example'],
  ['network_transient', 'npm error network read ECONNRESET'],
  ['service_unavailable', 'Error: connect ECONNREFUSED db.internal.example:5432'],
  ['port_in_use', 'Error: listen EADDRINUSE: address already in use'],
  ['disk_full', 'ENOSPC: no space left on device, write'],
])(
  '%s without a probe that could look: the same waits where the check fails so without the work as well',
  (label, stderr) => {
    const check = {
      ...{ command: 'bash check.sh', source: 'task', exitCode: 1, signal: null, timedOut: false, stdout: '', stderr },
      remaining: 1,
    }
    const baseline = { state: 'unknown', detail: 'baseline unknown', label }
    const settings = { ...policy, retry: { ...policy.retry, transientBaseSeconds: 30 } }
    const found = (more: object) => diagnose({ kind: 'check', check: { ...check, ...more } } as unknown as Evidence)
    const stepFor = (more: object) => nextStep(found(more), history, settings, task)
    const history: PastRecovery[] = []
    const delays: unknown[] = []
    for (let step = stepFor({ baseline }); step.kind === 'recover'; step = stepFor({ baseline })) {
      delays.push((step.action as { delayMs?: number }).delayMs)
      expect(step.action).toMatchObject({ type: 'wait', forChecks: true })
      history.push(past(step, 'failed', found({ baseline }).label, `r${history.length}`))
    }
    // A network is often away for longer than a port is taken.
    expect(label.startsWith('network_') ? delays.slice(0, 3) : delays).toEqual([5_000, 30_000, 120_000])
    for (const other of [
      {},
      { baseline: { state: 'passes', detail: '' } },
      { baseline: { ...baseline, label: 'unknown' } },
    ])
      expect(stepFor(other)).not.toMatchObject({ action: { type: 'wait' } })
  },
)

describe('what an agent left that fails each time', () => {
  const failed = (left?: string) =>
    diagnose({
      ...{ kind: 'launch', harness: 'command', denials: [] },
      failure: { source: 'exit', type: 'unknown', text: 'gave up' },
      ...(left === undefined ? {} : { left }),
    })
  const restarts = (): PastRecovery[] => {
    const history: PastRecovery[] = []
    for (const _ of ['restart', 'wait'])
      history.push(past(recover(nextStep(failed('a'), history, policy, task)), 'failed', 'unknown'))
    return history
  }

  it('is checked when every restart was tried, each version of it once, and held for a person', () => {
    const history = restarts()
    const check = recover(nextStep(failed('a'), history, policy, task))
    expect(check).toMatchObject({
      playbook: { id: 'last-check', counted: false },
      action: { type: 'check_work', tree: 'a', held: true },
      postCondition: { type: 'remaining_checks_pass' },
    })
    const after = [...history, past(check, 'failed', 'unknown')]
    expect(nextStep(failed('a'), after, policy, task).kind).toBe('exhausted')
    expect(nextStep(failed('b'), after, policy, task)).toMatchObject({ action: { tree: 'b' } })
  })

  it('is not checked where it left nothing, or where its owner wants no such check', () => {
    const history = restarts()
    expect(nextStep(failed(), history, policy, task).kind).toBe('exhausted')
    expect(nextStep(failed('a'), history, { ...policy, disabled: ['last-check'] }, task).kind).toBe('exhausted')
  })

  it('is checked at its second death on the same files, and lands', () => {
    const died = (again?: true) => {
      const stall = { kind: 'agent_died' as const, text: 'SIGSEGV', tree: 'a', changed: ['a.txt'], left: 'a' }
      return diagnose({ kind: 'stall', stall: { ...stall, ...(again && { again }) } })
    }
    const first = recover(nextStep(died(), [], policy, task))
    expect(first.playbook.id).toBe('death-restart')
    const second = recover(nextStep(died(true), [past(first, 'failed', 'agent_died')], policy, task))
    expect(second.action).toEqual({ type: 'check_work', name: 'CHECK_LEFT_WORK', tree: 'a' })
  })
})

it('calls that brought nothing new end with every action that would make another one, also after a wait', () => {
  const unknown = diagnose({
    ...{ kind: 'launch', harness: 'command', denials: [] },
    failure: { source: 'exit', type: 'unknown', text: 'gave up' },
  })
  const settings = { ...policy, fruitlessCalls: 4 }
  const restart = nextStep(unknown, [], settings, task)
  const history = [past(restart, 'failed', unknown.label)]
  expect(nextStep(unknown, history, settings, { ...task, fruitless: 3 })).toMatchObject({ action: { type: 'wait' } })
  expect(nextStep(unknown, history, settings, { ...task, fruitless: 4 })).toMatchObject({ kind: 'exhausted' })
})
