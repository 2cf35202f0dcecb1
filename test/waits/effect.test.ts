/**
 * A recovery counts by what was observed after it, never because an action was taken: each playbook once as it is, and once
 * with its action replaced by one that changes nothing. Here are those that need real files; test/simulation/effect.test.ts has
 * the others, and says where the rest is proven.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { playbooks } from '../../src/recovery/ladder.ts'
import type { Action, Playbook } from '../../src/recovery/playbook.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

interface Case {
  playbook: string
  label: string
  agent: FaultAgent
  commands?: string[]
  /** The same kind of action, without what it is for. */
  without: (action: Action) => Action
  actionTaken: string
  /** Whether it is one of the task's recoveries in total; waits are not. */
  counted: boolean
  /** What a person finds when it did not help. */
  ends: 'paused' | 'awaiting_human'
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

/** Does what it is told is missing, and nothing of it before. */
const told = (text: string): string => `args.some((text) => text.includes(${JSON.stringify(text)}))`

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

/** A relaunch that changes nothing and says nothing. */
const untold = (action: Action): Action => {
  const { feedback: _told, ...rest } = action as Extract<Action, { type: 'relaunch' }>
  return { ...rest, hint: '' }
}

const cases: Case[] = [
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
    ...{ playbook: 'tests-feedback', label: 'tests_removed', agent: removing, commands: ['node --test'] },
    ...{ actionTaken: 'RELAUNCH_WITH_FEEDBACK', counted: true, ends: 'awaiting_human' },
    without: untold,
  },
  {
    ...{ playbook: 'weakened-feedback', label: 'checks_weakened', agent: weakening },
    ...{ actionTaken: 'RELAUNCH_WITH_FEEDBACK', counted: true, ends: 'awaiting_human' },
    without: untold,
  },
]

const files = {
  'red.test.js':
    "const { test } = require('node:test')\ntest('is red', () => require('node:assert').ok(require('./red.js')))",
  'green.test.js': green,
  'red.js': 'module.exports = false',
  'here.js': "process.exit(require('node:fs').existsSync('made.txt') ? 0 : 1)",
}

/** The post-condition stays that of the true action: what must be seen does not depend on what was done. */
const effectless = (playbook: Playbook): Playbook => {
  const row = cases.find((candidate) => candidate.playbook === playbook.id)
  if (row === undefined) return playbook
  let meant: Action | undefined
  return {
    ...playbook,
    plan: (...given) => {
      meant = playbook.plan(...given)
      return meant === undefined ? undefined : row.without(meant)
    },
    postCondition: (action) => playbook.postCondition(meant ?? action),
  }
}

/** One engine with a goal for every case; they work side by side and each test looks at its own. */
const openAll = async (used: readonly Playbook[]): Promise<{ scene: Scene; goals: string[] }> => {
  const agents = Object.fromEntries(cases.map((row) => [row.playbook, row.agent]))
  const scene = await openScene(
    agents,
    { maxParallel: cases.length, verify: { proof: 'off' } },
    { playbooks: used, files },
  )
  const goals: string[] = []
  for (const row of cases) {
    const task = { harness: row.playbook, ...(row.commands === undefined ? {} : { commands: row.commands }) }
    goals.push(await scene.goal([task]))
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
