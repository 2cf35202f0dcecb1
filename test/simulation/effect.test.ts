/**
 * A recovery counts by what was observed after it, never because an action was taken: each playbook once as it is, and once
 * with its action replaced by one that changes nothing. What needs real files is in test/waits/effect.test.ts.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { playbooks } from '../../src/recovery/ladder.ts'
import type { Action, Playbook } from '../../src/recovery/playbook.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { runnerWithoutTests } from './checks.ts'
import { openSyncStore, type SyncStore } from './sync-store.ts'
import type { Behaviour, StartFacts, TaskPlan } from './plan.ts'
import { aGoal, aPlan, aTask } from './plans.ts'
import { runPlan, type Outcome } from './run.ts'
import { noHooks, redFile, type Hooks, type World } from './world.ts'

let store: SyncStore
beforeAll(async () => {
  store = await openSyncStore(inject('simulationSocket'))
})
afterAll(() => store.close())

interface Case {
  playbook: string
  label: string
  behaviour: Behaviour
  task?: Partial<TaskPlan>
  /** The same kind of action, without what it is for. */
  without: (action: Action) => Action
  actionTaken: string
  /** Whether it is one of the task's recoveries in total; waits are not. */
  counted: boolean
  /** Would be taken far more often than once. */
  once?: true
  /** What a person is asked when it did not help. */
  asks: 'blocker' | 'exhausted'
}

type Relaunch = Extract<Action, { type: 'relaunch' }>
type Wait = Extract<Action, { type: 'wait' }>

const told =
  (text: string) =>
  ({ words }: StartFacts): boolean =>
    words.includes(text)
const later = ({ atMs }: StartFacts): boolean => atMs > 60_000

/** A restart that says nothing. */
const unhinted = (action: Action): Action => {
  const { restart: _number, ...rest } = action as Relaunch
  return { ...rest, hint: '' }
}
/** A relaunch that changes nothing and says nothing. */
const untold = (action: Action): Action => {
  const { feedback: _told, ...rest } = action as Relaunch
  return { ...rest, hint: '' }
}
const dropsAnother = (): Action => ({ type: 'drop_command', name: 'DROP_COMMAND', command: 'no such command' })

const restart = { actionTaken: 'RESTART_WITH_HINT', counted: true, asks: 'exhausted', without: unhinted } as const
const feedback = { actionTaken: 'RELAUNCH_WITH_FEEDBACK', counted: true, asks: 'exhausted', without: untold } as const
const drop = { actionTaken: 'DROP_COMMAND', counted: true, asks: 'exhausted', without: dropsAnother } as const

const stopped = told('You were stopped and restarted')

const cases: Case[] = [
  {
    ...{ playbook: 'git-trust-relaunch', label: 'GIT_TRUST_ERROR', behaviour: 'trust', task: { harness: 'codex' } },
    ...{ actionTaken: 'RELAUNCH_WITH_SKIP_GIT_CHECK', counted: true, asks: 'blocker' },
    without: (action) => {
      const { skipGitCheck: _flag, ...rest } = action as Relaunch
      return rest
    },
  },
  {
    ...{ playbook: 'directory-scope-relaunch', label: 'SANDBOX_ERROR', behaviour: 'denied' },
    ...{ actionTaken: 'RELAUNCH_WITH_ADD_DIR', counted: true, asks: 'blocker' },
    without: (action) => {
      const { addDir: _dir, ...rest } = action as Relaunch
      return rest
    },
  },
  {
    ...{
      playbook: 'transient-backoff',
      label: 'provider_overloaded',
      behaviour: 'overload',
      task: { isHelped: later },
    },
    ...{ actionTaken: 'WAIT_AND_REQUEUE', counted: false, asks: 'exhausted' },
    without: (action) => ({ ...(action as Wait), delayMs: 0 }),
  },
  {
    ...{ playbook: 'quota-wait', label: 'llm_quota', behaviour: 'quota', task: { isHelped: later } },
    ...{ actionTaken: 'WAIT_FOR_QUOTA', counted: false, asks: 'exhausted', once: true },
    without: (action) => {
      const { until: _until, jitterMs: _jitter, ...rest } = action as Wait
      return { ...rest, delayMs: 0 }
    },
  },
  {
    ...{ playbook: 'fresh-session', label: 'context_overflow', behaviour: 'overlong' },
    ...{ actionTaken: 'RELAUNCH_WITH_FRESH_SESSION', counted: true, asks: 'exhausted' },
    task: { isHelped: told('grew too long') },
    without: (action) => {
      const { fresh: _fresh, ...rest } = action as Relaunch
      return { ...rest, hint: '' }
    },
  },
  {
    ...restart,
    playbook: 'stall-restart',
    label: 'stuck_after_tool_result',
    behaviour: 'hang',
    task: { isHelped: stopped },
  },
  { ...restart, playbook: 'doom-loop-restart', label: 'doom_loop', behaviour: 'circles', task: { isHelped: stopped } },
  { ...restart, playbook: 'death-restart', label: 'agent_died', behaviour: 'killed', task: { isHelped: stopped } },
  {
    ...{ ...restart, playbook: 'no-change-restart', label: 'no_changes', behaviour: 'no-change' },
    task: { isHelped: told('You ended your turn'), paths: [redFile] },
  },
  {
    ...{ ...restart, playbook: 'session-replay', label: 'session_lost', behaviour: 'sessionless' },
    task: { isHelped: told('could not be resumed') },
  },
  { ...feedback, playbook: 'check-feedback', label: 'test_failure', behaviour: 'told' },
  { ...feedback, playbook: 'policy-feedback', label: 'policy_violation', behaviour: 'stray' },
  {
    ...{ ...drop, playbook: 'missing-script-drop', label: 'missing_script', behaviour: 'success' },
    task: { commands: ['npm run missing', 'npm test'] },
  },
  {
    ...{ ...drop, playbook: 'no-tests-drop', label: 'no_test_files', behaviour: 'success' },
    task: { commands: [runnerWithoutTests, 'npm test'] },
  },
  {
    ...{ ...drop, playbook: 'unsupported-format-drop', label: 'unsupported_format', behaviour: 'success' },
    task: { commands: ['npm test | cat', 'npm test'] },
  },
]

/** A playbook that is in neither list has no proof that it is effective. */
const provenElsewhere = [
  // test/waits/effect.test.ts sees each help, and fail without its effect.
  ...['owner-bits-relaunch', 'tool-rule-relaunch', 'tests-feedback', 'weakened-feedback'],
  // test/verify sees each of these repairs of checks help, and fail without its effect.
  ...['dependency-install', 'sequence-reorder', 'script-replacement', 'package-narrowing', 'make-target-drop'],
  'command-fix',
  // test/remote sees it fail while the remote is away and succeed when it is back.
  'remote-backoff',
  // quota.test.ts sees the first help, and fail where the other account is at its limit too; the second with a login in a file.
  ...['harness-failover', 'login-relaunch'],
  // machine-wait.test.ts sees it help, test/verify/merge.test.ts fail while the port is taken.
  'machine-wait',
  // permissions.test.ts sees it help, and fail.
  'owner-bits',
  // feedback.test.ts: the rounds that follow feedback, and those after an unknown error.
  ...['fresh-feedback', 'feedback-elsewhere', 'unknown-restart', 'unknown-requeue'],
  // fault-agents.test.ts sees both help, and fail.
  ...['death-check', 'last-check', 'workspace-renewal'],
  // red-before.test.ts, workspaces.test.ts and landing.test.ts.
  ...['red-before', 'setup-retry', 'newer-base-run'],
  // proposal.test.ts sees each help, and a command without effect fail.
  ...['proposed-command', 'approved-command', 'proposal-cooldown'],
  // policy.test.ts, which also sees a discard and a question without effect.
  ...['policy-exclude', 'policy-allow', 'policy-discard', 'policy-ask'],
  // conflicts.test.ts sees the first help, and both fail; conflict-solutions.test.ts sees all help, test/runtime/conflict-fix.test.ts the third fail.
  ...['conflict-auto-fix', 'conflict-markers-feedback', 'conflict-again'],
  // judge.test.ts sees the first help, test/runtime/judge.test.ts both of them help, and fail.
  ...['auto-fix-objection', 'auto-fix-other-harness'],
]

/** The post-condition stays that of the true action: what must be seen does not depend on what was done. */
const effectless = (row: Case): Playbook[] => {
  // What a drop does not bring, the agent would be asked for, what is not mended is told again, and what is left is checked: each row is
  // about one playbook.
  const next = ['command-fix', 'fresh-feedback', 'death-check', 'last-check']
  return playbooks
    .filter(({ id }) => !next.includes(id))
    .map((playbook) => {
      if (playbook.id !== row.playbook) return playbook
      let meant: Action | undefined
      return {
        ...playbook,
        ...(row.once === true ? { budget: 1 } : {}),
        plan: (...given) => {
          meant = playbook.plan(...given)
          return meant === undefined ? undefined : row.without(meant)
        },
        postCondition: (action) => playbook.postCondition(meant ?? action),
      }
    })
}

/** The question comes right after the recoveries of the run, and each wait is longer than what it waits for. */
const withPlaybooks = (context: Context, used: readonly Playbook[]): Context => {
  const config = (): ReturnType<Context['config']> => {
    const given = context.config()
    const waits = { transientBaseSeconds: 61, transientMaxSeconds: 61, transientLimit: 1 }
    return {
      ...given,
      requeue: { ...given.requeue, inPlaceLimit: 0, reworkDepth: 0 },
      policyRecovery: { ...given.policyRecovery, useLlm: false },
      retry: { ...given.retry, ...waits, quotaBaseSeconds: 61, quotaMaxSeconds: 61 },
    }
  }
  return {
    ...{ ...context, config },
    policy: () => ({ playbooks: used, disabled: config().playbooks.disabled, retry: config().retry }),
  }
}

interface Seen {
  outcome: Outcome
  told: string
  /** As they were when the first question was asked, or at the end. */
  recoveries: object[]
  tasks: string[]
  questions: { kind: string }[]
  actions: unknown[]
  /** Whether it was told that no recovery is left. */
  isEscalated: boolean
}

const factsOf = ({ tables }: World): Pick<Seen, 'recoveries' | 'tasks' | 'questions'> => ({
  recoveries: [...tables.recovery.values()].map((row) => ({ ...row })),
  tasks: [...tables.task.values()].map(({ status }) => status),
  questions: [...tables.escalation.values()].map(({ kind }) => ({ kind })),
})

const played = async (row: Case, used: readonly Playbook[]): Promise<Seen> => {
  let world: World | undefined
  let asked: ReturnType<typeof factsOf> | undefined
  let isEscalated = false
  const lines: string[] = []
  const actions: unknown[] = []
  const hooks: Hooks = {
    ...noHooks,
    context: (context, itsWorld) => {
      world = itsWorld
      return withPlaybooks(context, used)
    },
  }
  // Work that mends what was red before: without it the check fails, so nothing says that there was nothing to do.
  const plan = { ...aPlan([aGoal([aTask('t1', [row.behaviour], row.task)])]), redBase: row.task?.paths !== undefined }
  const each = (line: string): void => {
    lines.push(line)
    isEscalated ||= line.includes(' task.recovery_escalated ')
    if (world === undefined || asked !== undefined) return
    if (line.includes(' escalation.opened ')) asked = factsOf(world)
    const payload = / recovery \S+ \S+ \S+ (\{.*\})$/.exec(line)?.[1]
    if (payload === undefined) return
    const { action_taken: action, status, retry_count: count } = JSON.parse(payload) as Record<string, unknown>
    actions.push([action, status, count])
  }
  // What a person answers, and what comes of it, is not looked at.
  const isOver = (): boolean => asked !== undefined && isEscalated
  const outcome = await runPlan(plan, store, { hooks, each, isOver })
  const told = `${outcome.violation?.text}\n${lines.slice(-80).join('\n')}`
  return { outcome, actions, told, isEscalated, ...(asked ?? factsOf(world as World)) }
}

test('every playbook is proven here or elsewhere, once', () => {
  const proven = [...cases.map(({ playbook }) => playbook), ...provenElsewhere]
  expect(proven.toSorted()).toEqual(playbooks.map(({ id }) => id).toSorted())
})

describe('as they are', () => {
  test.each(cases)('$playbook: the task is done and the recovery a success', async (row) => {
    const { outcome, told, recoveries, questions, actions } = await played(row, playbooks)
    expect(outcome.violation, told).toBeUndefined()
    expect(outcome.ends, told).toEqual({ ready: 1 })
    const { playbook, label, counted } = row
    expect(recoveries).toMatchObject([{ playbook, label, status: 'success', counted, attempt: 1 }])
    expect(actions).toEqual([[row.actionTaken, 'success', 1]])
    expect(questions).toEqual([])
  })
})

describe('without effect', () => {
  test.each(cases)('$playbook: a failure, charged, not repeated, and one question is asked', async (row) => {
    const { outcome, told, recoveries, questions, tasks, actions, isEscalated } = await played(row, effectless(row))
    expect(outcome.violation, told).toBeUndefined()
    const { playbook, label, counted } = row
    expect(recoveries, told).toMatchObject([{ playbook, label, status: 'failed', counted, attempt: 1 }])
    expect(actions).toEqual([[row.actionTaken, 'failed', 1]])
    expect(questions, told).toMatchObject([{ kind: row.asks }])
    expect(tasks).toEqual(['blocked(awaiting_human)'])
    expect(isEscalated).toBe(true)
  })
})
