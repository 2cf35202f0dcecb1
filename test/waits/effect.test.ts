/**
 * A recovery counts by what was observed after it, never because an action was taken: each playbook once as it is, and once
 * with its action replaced by one that changes nothing.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { playbooks } from '../../src/recovery/ladder.ts'
import type { Action, Playbook } from '../../src/recovery/playbook.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

interface Case {
  playbook: string
  label: string
  agent: FaultAgent
  commands?: string[]
  allowOutside?: true
  /** The same kind of action, without what it is for. */
  without: (action: Action) => Action
  actionTaken: string
  /** Whether it is one of the task's recoveries in total; waits are not. */
  counted: boolean
  /** Would be taken far more often than a test can wait for. */
  once?: true
  /** What a person finds when it did not help. */
  ends: 'paused' | 'awaiting_human'
}

const untrusting: FaultAgent = {
  driver: 'codex',
  program: `
    if (!args.includes('--skip-git-repo-check')) {
      console.error('Not inside a trusted directory and --skip-git-repo-check was not specified.')
      process.exit(1)
    }
    print({ type: 'thread.started', thread_id: 'thread-1' })
    print({ type: 'turn.started' })
    put('made.txt', 'made')
    print({ type: 'turn.completed', usage: { input_tokens: 10, output_tokens: 1, cached_input_tokens: 0 } })`,
}

const fenced: FaultAgent = {
  driver: 'claude',
  program: `
    begin()
    if (after('--add-dir').includes('TOP/outside')) { put('TOP/outside/made.txt', 'made'); put('inside.txt', 'made') }
    else denied('TOP/outside/made.txt')
    end()`,
}

const locked: FaultAgent = {
  driver: 'claude',
  program: `
    begin()
    if (!existsSync('locked')) { mkdirSync('locked'); chmodSync('locked', 0o500) }
    if ((statSync('locked').mode & 0o200) === 0) refused(join(process.cwd(), 'locked', 'new.txt'))
    else { put('locked/new.txt', 'new'); put('made.txt', 'made') }
    end()`,
}

/** The two commands as one line are allowed from the start, one of them alone is not. */
const asking: FaultAgent = {
  driver: 'claude',
  program: `
    begin()
    if (args.includes('Bash(node check.js:*)')) put('made.txt', 'made')
    else failed('Bash', { command: 'node check.js' }, 'This command requires approval')
    end()`,
}

/** Overloaded until 60 seconds after it was first asked. */
const overloaded: FaultAgent = {
  driver: 'claude',
  program: `
    begin()
    const first = 'TOP/first'
    if (!existsSync(first)) put(first, String(Date.now()))
    if (Date.now() - Number(readFileSync(first, 'utf8')) < 60000)
      end({ is_error: true, api_error_status: 529, result: 'API Error: Repeated 529 Overloaded errors.' })
    else { put('made.txt', 'made'); end() }`,
}

/** The limit of the account is reached until 60 seconds after it was first asked; the CLI says so in its limit event. */
const limited: FaultAgent = {
  driver: 'claude',
  program: `
    begin()
    const first = 'TOP/limited'
    if (!existsSync(first)) put(first, String(Date.now()))
    const resets = Number(readFileSync(first, 'utf8')) + 60000
    if (Date.now() < resets) {
      print({ type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt: resets / 1000, rateLimitType: 'five_hour' } })
      print({ type: 'assistant', error: 'rate_limit', message: { content: [{ type: 'text', text: "You've hit your limit" }] } })
      end({ is_error: true, api_error_status: 429, result: "You've hit your limit" })
    } else { put('made.txt', 'made'); end() }`,
}

/** Its session grows too long while it works; one that is told so, and what is there, comes to the end. */
const overlong: FaultAgent = {
  driver: 'claude',
  program: `
    begin()
    const told = args.some((text) => text.includes('grew too long') && text.includes('- added: half.txt'))
    if (told && existsSync('half.txt')) { put('made.txt', 'made'); end() }
    else {
      put('half.txt', 'half')
      end({ is_error: true, terminal_reason: 'prompt_too_long', result: 'Prompt is too long' })
      process.exit(1)
    }`,
}

/** Does what it is told is missing, and nothing of it before. */
const told = (text: string): string => `args.some((text) => text.includes(${JSON.stringify(text)}))`

const mending: FaultAgent = {
  driver: 'claude',
  program: `begin(); put('other.txt', 'x'); if (${told('node here.js')} && ${told('Your work was checked')}) put('made.txt', 'made'); end()`,
}

const straying: FaultAgent = {
  driver: 'claude',
  program: `begin(); put('made.txt', 'made')
    if (${told('.unstuck/stray.txt')}) (await import('node:fs')).rmSync('.unstuck/stray.txt', { force: true })
    else put('.unstuck/stray.txt', 's')
    end()`,
}

const removing: FaultAgent = {
  driver: 'claude',
  program: `begin(); put('made.txt', 'made')
    if (${told('Restore these tests')}) {
      put('red.test.js', "const { test } = require('node:test')\\ntest('is red', () => require('node:assert').ok(require('./red.js')))")
      put('red.js', 'module.exports = true')
    } else (await import('node:fs')).rmSync('red.test.js', { force: true })
    end()`,
}

const green = "const { test } = require('node:test')\ntest('is green', () => {})"

const weakening: FaultAgent = {
  driver: 'claude',
  program: `begin(); put('made.txt', 'made')
    const { rmSync } = await import('node:fs')
    if (${told('Revert this change')}) put('green.test.js', ${JSON.stringify(green)})
    else rmSync('green.test.js', { force: true })
    end()`,
}

const steady: FaultAgent = { driver: 'claude', program: `begin(); put('made.txt', 'made'); end()` }

const silent: FaultAgent = {
  driver: 'claude',
  program: `begin(); if (hinted) { put('made.txt', 'made'); end() } else forever()`,
}

const circling: FaultAgent = {
  driver: 'claude',
  program: `begin()
    if (hinted) { put('made.txt', 'made'); end() }
    else setInterval(() => { const id = 'c' + Math.random(); call(id, 'Bash', { command: 'ls' }); answered(id, 'x') }, 50)`,
}

const dying: FaultAgent = {
  driver: 'claude',
  program: `begin(); if (hinted) { put('made.txt', 'made'); end() } else process.kill(process.pid, 'SIGKILL')`,
}

const idle: FaultAgent = {
  driver: 'claude',
  program: `begin(); if (args.some((text) => text.includes('You ended your turn'))) put('made.txt', 'made'); end()`,
}

const forgetful: FaultAgent = {
  driver: 'claude',
  program: `
    if (!args.some((text) => text.includes('could not be resumed'))) {
      console.error('No conversation found with session ID: session-0')
      process.exit(1)
    }
    begin(); put('made.txt', 'made'); end()`,
}

/** A relaunch that changes nothing and says nothing. */
const untold = (action: Action): Action => {
  const { feedback: _told, ...rest } = action as Extract<Action, { type: 'relaunch' }>
  return { ...rest, hint: '' }
}

const cases: Case[] = [
  {
    ...{ playbook: 'git-trust-relaunch', label: 'GIT_TRUST_ERROR', agent: untrusting },
    ...{ actionTaken: 'RELAUNCH_WITH_SKIP_GIT_CHECK', counted: true, ends: 'paused' },
    without: (action) => {
      const { skipGitCheck: _flag, ...rest } = action as Extract<Action, { type: 'relaunch' }>
      return rest
    },
  },
  {
    ...{ playbook: 'directory-scope-relaunch', label: 'SANDBOX_ERROR', agent: fenced, allowOutside: true },
    ...{ actionTaken: 'RELAUNCH_WITH_ADD_DIR', counted: true, ends: 'paused' },
    without: (action) => {
      const { addDir: _dir, ...rest } = action as Extract<Action, { type: 'relaunch' }>
      return rest
    },
  },
  {
    ...{ playbook: 'tool-rule-relaunch', label: 'TOOL_DENIED', agent: asking },
    commands: ['node check.js && node here.js'],
    ...{ actionTaken: 'RELAUNCH_WITH_TOOL_RULE', counted: true, ends: 'paused' },
    without: (action) => {
      const { toolRules: _rules, ...rest } = action as Extract<Action, { type: 'relaunch' }>
      return rest
    },
  },
  {
    ...{ playbook: 'owner-bits-relaunch', label: 'FS_PERM_ERROR', agent: locked },
    ...{ actionTaken: 'RELAUNCH_WITH_CHMOD', counted: true, ends: 'paused' },
    without: (action) => {
      const { chmod: _change, ...rest } = action as Extract<Action, { type: 'relaunch' }>
      return rest
    },
  },
  {
    ...{ playbook: 'transient-backoff', label: 'provider_overloaded', agent: overloaded },
    ...{ actionTaken: 'WAIT_AND_REQUEUE', counted: false, ends: 'awaiting_human' },
    without: (action) => ({ ...(action as Extract<Action, { type: 'wait' }>), delayMs: 0 }),
  },
  {
    ...{ playbook: 'quota-wait', label: 'llm_quota', agent: limited },
    ...{ actionTaken: 'WAIT_FOR_QUOTA', counted: false, ends: 'awaiting_human' },
    // At once, and the second answer is a question: the wait itself is what helps.
    without: (action) => {
      const { until: _until, jitterMs: _jitter, ...rest } = action as Extract<Action, { type: 'wait' }>
      return { ...rest, delayMs: 0 }
    },
    once: true,
  },
  {
    ...{ playbook: 'fresh-session', label: 'context_overflow', agent: overlong },
    ...{ actionTaken: 'RELAUNCH_WITH_FRESH_SESSION', counted: true, ends: 'awaiting_human' },
    without: (action) => {
      const { fresh: _fresh, ...rest } = action as Extract<Action, { type: 'relaunch' }>
      return { ...rest, hint: '' }
    },
  },
  {
    ...{ playbook: 'stall-restart', label: 'silence', agent: silent },
    ...{ actionTaken: 'RESTART_WITH_HINT', counted: true, ends: 'awaiting_human' },
    without: (action) => {
      const { restart: _number, ...rest } = action as Extract<Action, { type: 'relaunch' }>
      return { ...rest, hint: '' }
    },
  },
  {
    ...{ playbook: 'doom-loop-restart', label: 'doom_loop', agent: circling },
    ...{ actionTaken: 'RESTART_WITH_HINT', counted: true, ends: 'awaiting_human' },
    without: (action) => {
      const { restart: _number, ...rest } = action as Extract<Action, { type: 'relaunch' }>
      return { ...rest, hint: '' }
    },
  },
  {
    ...{ playbook: 'death-restart', label: 'agent_died', agent: dying },
    ...{ actionTaken: 'RESTART_WITH_HINT', counted: true, ends: 'awaiting_human' },
    without: (action) => {
      const { restart: _number, ...rest } = action as Extract<Action, { type: 'relaunch' }>
      return { ...rest, hint: '' }
    },
  },
  {
    ...{ playbook: 'no-change-restart', label: 'no_changes', agent: idle, commands: ['node here.js'] },
    ...{ actionTaken: 'RESTART_WITH_HINT', counted: true, ends: 'awaiting_human' },
    without: (action) => {
      const { restart: _number, ...rest } = action as Extract<Action, { type: 'relaunch' }>
      return { ...rest, hint: '' }
    },
  },
  {
    ...{ playbook: 'session-replay', label: 'session_lost', agent: forgetful },
    ...{ actionTaken: 'RESTART_WITH_HINT', counted: true, ends: 'awaiting_human' },
    without: (action) => {
      const { restart: _number, ...rest } = action as Extract<Action, { type: 'relaunch' }>
      return { ...rest, hint: '' }
    },
  },
  {
    ...{ playbook: 'check-feedback', label: 'check_failed', agent: mending, commands: ['node here.js'] },
    ...{ actionTaken: 'RELAUNCH_WITH_FEEDBACK', counted: true, ends: 'awaiting_human' },
    without: untold,
  },
  {
    ...{ playbook: 'policy-feedback', label: 'policy_violation', agent: straying },
    ...{ actionTaken: 'RELAUNCH_WITH_FEEDBACK', counted: true, ends: 'awaiting_human' },
    without: untold,
  },
  {
    ...{ playbook: 'tests-feedback', label: 'tests_removed', agent: removing, commands: ['node --test'] },
    ...{ actionTaken: 'RELAUNCH_WITH_FEEDBACK', counted: true, ends: 'awaiting_human' },
    without: untold,
  },
  {
    ...{ playbook: 'weakened-feedback', label: 'checks_weakened', agent: weakening },
    ...{ actionTaken: 'RELAUNCH_WITH_FEEDBACK', counted: true, ends: 'awaiting_human' },
    without: untold,
  },
  {
    ...{ playbook: 'missing-script-drop', label: 'missing_script', agent: steady },
    ...{ actionTaken: 'DROP_COMMAND', counted: true, ends: 'awaiting_human' },
    commands: ['npm run nowhere', 'node check.js'],
    without: () => ({ type: 'drop_command', name: 'DROP_COMMAND', command: 'no such command' }),
  },
  {
    ...{ playbook: 'no-tests-drop', label: 'no_test_files', agent: steady },
    ...{ actionTaken: 'DROP_COMMAND', counted: true, ends: 'awaiting_human' },
    commands: ['node empty.js', 'node check.js'],
    without: () => ({ type: 'drop_command', name: 'DROP_COMMAND', command: 'no such command' }),
  },
  {
    ...{ playbook: 'unsupported-format-drop', label: 'unsupported_format', agent: steady },
    ...{ actionTaken: 'DROP_COMMAND', counted: true, ends: 'awaiting_human' },
    commands: ['node check.js | cat', 'node check.js'],
    without: () => ({ type: 'drop_command', name: 'DROP_COMMAND', command: 'no such command' }),
  },
]

const files = {
  /** A runner without a test, on the base commit as well. */
  'empty.js': "console.log('collected 0 items')",
  /** Whatever another agent writes elsewhere, nothing is here yet. */
  'red.test.js':
    "const { test } = require('node:test')\ntest('is red', () => require('node:assert').ok(require('./red.js')))",
  'green.test.js': green,
  'red.js': 'module.exports = false',
  'here.js': "process.exit(require('node:fs').existsSync('made.txt') ? 0 : 1)",
}

/** Repairs of checks run package managers, npm and make: test/verify sees each of them help, and fail without its effect. */
const repairs = [
  ...['dependency-install', 'sequence-reorder', 'script-replacement', 'package-narrowing', 'make-target-drop'],
  'command-fix',
]

/**
 * The first needs a repository by URL: test/remote sees it fail while the remote is away and succeed when it is back. The second
 * needs two accounts: quota.test.ts sees it help, and fail where the other is at its limit too. The third needs a repository
 * that nobody else works on: permissions.test.ts sees it help, and fail. The fourth needs a login in a file: quota.test.ts sees
 * it help, and fail. The rounds that follow feedback, and those after an unknown error, are in feedback.test.ts, what was red before
 * in red-before.test.ts, the set-up of a workspace in workspaces.test.ts, and work on a newer base in landing.test.ts. Changed
 * paths that need no feedback are in policy.test.ts, which also sees a discard and a question without effect.
 */
const provenElsewhere = [
  ...['remote-backoff', 'harness-failover', 'owner-bits', 'login-relaunch', ...repairs],
  ...['fresh-feedback', 'feedback-elsewhere', 'unknown-restart', 'unknown-requeue', 'red-before', 'setup-retry'],
  // proposal.test.ts sees each help, and a command without effect fail.
  ...['proposed-command', 'approved-command', 'proposal-cooldown'],
  ...['newer-base-run', 'policy-exclude', 'policy-allow', 'policy-discard', 'policy-ask'],
  // conflicts.test.ts sees the first help, and both fail; conflict-solutions.test.ts sees all help, test/runtime/conflict-fix.test.ts the third fail.
  ...['conflict-auto-fix', 'conflict-markers-feedback', 'conflict-again'],
  // judge.test.ts sees the first help, test/runtime/judge.test.ts both of them help, and fail.
  ...['auto-fix-objection', 'auto-fix-other-harness'],
]

/** The post-condition stays that of the true action: what must be seen does not depend on what was done. */
const effectless = (playbook: Playbook): Playbook => {
  if (provenElsewhere.includes(playbook.id)) return playbook
  const row = cases.find((candidate) => candidate.playbook === playbook.id)
  if (row === undefined) throw new Error(`${playbook.id} has no proof that it is effective; add it to the cases`)
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
}

/** The wait is longer than the outage, and there is one. */
const config = {
  retry: { transientBaseSeconds: 61, transientMaxSeconds: 61, transientLimit: 1 },
  stall: { silenceSeconds: 3 },
  maxParallel: cases.length,
}

/** One engine with a goal for every case; they work side by side and each test looks at its own. */
const openAll = async (used: readonly Playbook[]): Promise<{ scene: Scene; goals: string[] }> => {
  const agents = Object.fromEntries(cases.map((row) => [row.playbook, row.agent]))
  const scene = await openScene(agents, config, { playbooks: used, files })
  const goals: string[] = []
  for (const row of cases) {
    const task = { harness: row.playbook, ...(row.commands === undefined ? {} : { commands: row.commands }) }
    const allowedDirs = row.allowOutside === true ? [join(scene.top, 'outside')] : []
    goals.push(await scene.goal([task], { allowedDirs }))
  }
  return { scene, goals }
}

describe('as they are', () => {
  let opened: Awaited<ReturnType<typeof openAll>>
  beforeAll(async () => {
    opened = await openAll(playbooks)
  })
  afterAll(async () => opened.scene.clear())

  test.each(cases)('$playbook: the task is done and the recovery a success', { timeout: 180_000 }, async (row) => {
    const { scene } = opened
    const goal = opened.goals[cases.indexOf(row)] as string
    await scene.until(goal, 'ready', 'paused', 'awaiting_human')
    expect(await scene.task(goal)).toMatchObject({ status: 'done' })
    expect(await scene.recoveries(goal)).toMatchObject([
      { playbook: row.playbook, label: row.label, status: 'success', counted: row.counted, attempt: 1 },
    ])
    const events = await scene.events(goal, 'recovery')
    expect(events.map(({ payload }) => [payload['action_taken'], payload['status'], payload['retry_count']])).toEqual([
      [row.actionTaken, 'success', 1],
    ])
    expect((await scene.questions()).filter(({ goalId }) => goalId === goal)).toEqual([])
  })
})

describe('without effect', () => {
  let opened: Awaited<ReturnType<typeof openAll>>
  beforeAll(async () => {
    // What a drop does not bring, the agent would be asked for, and what is not mended is told again: each row is about one playbook.
    const next = ['command-fix', 'fresh-feedback']
    opened = await openAll(playbooks.filter(({ id }) => !next.includes(id)).map(effectless))
  })
  afterAll(async () => opened.scene.clear())

  test.each(cases)(
    '$playbook: a failure, charged, not repeated, and one question is asked',
    { timeout: 180_000 },
    async (row) => {
      const { scene } = opened
      const goal = opened.goals[cases.indexOf(row)] as string
      await scene.until(goal, 'ready', row.ends)
      expect(await scene.task(goal)).toMatchObject({ status: 'blocked(awaiting_human)' })
      expect(await scene.recoveries(goal)).toMatchObject([
        { playbook: row.playbook, label: row.label, status: 'failed', counted: row.counted, attempt: 1 },
      ])
      const events = await scene.events(goal, 'recovery')
      expect(events.map(({ payload }) => [payload['action_taken'], payload['status'], payload['retry_count']])).toEqual(
        [[row.actionTaken, 'failed', 1]],
      )
      const questions = (await scene.questions()).filter(({ goalId }) => goalId === goal)
      expect(questions).toMatchObject([{ kind: row.ends === 'paused' ? 'blocker' : 'exhausted' }])
      expect(await scene.events(goal, 'blocker')).toHaveLength(row.ends === 'paused' ? 1 : 0)
      // Work that weakened its checks passes them: the attempt is a success, and the judge is who asks.
      const asked = row.playbook === 'weakened-feedback' ? 'judge.review' : 'task.recovery_escalated'
      expect(await scene.events(goal, asked)).toHaveLength(1)
    },
  )
})
