/** How runs end when no playbook is in play: what is only noted, what stops an agent and asks, and what answers do. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Goal, Task } from '../../src/api/contract.ts'
import { startTimeOf } from '../../src/platform/process.ts'
import { shortened } from '../support/form.ts'
import { faultProgram, openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const claude = (program: string): FaultAgent => ({ driver: 'claude', program })

/** All write their pid, so that a test can see whether they are gone. */
const pid = (name: string): string => `put('TOP/${name}.pid', String(process.pid));`

const agents: Record<string, FaultAgent> = {
  steady: claude(`begin(); put('made.txt', 'made'); end()`),
  noticed: claude(`begin(); denied('TOP/outside/other.txt'); put('made.txt', 'made'); end()`),
  fenced: claude(`begin(); denied('TOP/outside/made.txt'); end()`),
  hungry: claude(`${pid('hungry')} begin(); put('made.txt', 'made'); usage(500); forever()`),
  costly: claude(`${pid('costly')} begin(); put('made.txt', 'made'); end({ total_cost_usd: 5 }); forever()`),
  slow: claude(`${pid('slow')} begin(); put('made.txt', 'made'); forever()`),
  lingering: { driver: 'claude', program: faultProgram('lingering', '--once', 'TOP/lingering.pid') },
  // Compacts its conversation: an end, and then it goes on for longer than a lingering agent may stay.
  compacting: {
    driver: 'opencode',
    program: `const stop = () => print({ type: 'step_finish', part: { reason: 'stop' } })
      stop(); print({ type: 'step_start', part: { messageID: 'm2' } })
      setTimeout(() => { put('made.txt', 'made'); stop() }, 1500)`,
  },
  behindBridge: {
    driver: 'acp',
    program: `process.argv.splice(2, 9, 'write', process.cwd() + '/made.txt')
      await import(${JSON.stringify(new URL('../fixture/process/acp-agent.mjs', import.meta.url).href)})`,
  },
  second: claude(`begin(); put('second.txt', existsSync('made.txt') ? 'after' : 'too early'); end()`),
  improving: claude(`begin(); put(count('TOP/tries') > 3 ? 'made.txt' : 'wrong.txt', 'made'); end()`),
}

let scene: Scene
beforeAll(async () => {
  scene = await openScene(agents, { stall: { lingerSeconds: 0.5 } })
})
afterAll(async () => scene.clear())

const isGone = (name: string): boolean =>
  startTimeOf(Number(readFileSync(join(scene.top, `${name}.pid`), 'utf8'))) === undefined
const questionsOf = async (goal: string) => (await scene.questions()).filter((entry) => entry.goalId === goal)

test('a denial in a turn whose verification passes is only noted', async () => {
  const goal = await scene.goal([{ harness: 'noticed' }])
  await scene.until(goal, 'ready', 'paused', 'awaiting_human')
  const [run, ...more] = await scene.runs(goal)
  expect(more).toEqual([])
  expect(run?.state).toBe('success')
  expect(run?.launches).toHaveLength(1)
  expect(run?.verdict?.notes).toEqual([expect.stringContaining('outside/other.txt')])
  expect(await scene.recoveries(goal)).toEqual([])
  expect(scene.show('made.txt', goal)).toBe('made')
})

describe('a ceiling stops the agent and a person is asked', () => {
  const ceilings = [
    { harness: 'hungry', limits: { goalTokens: 100 }, what: /goal's ceiling of 100 tokens/ },
    { harness: 'costly', limits: { goalCostUsd: 1 }, what: /goal's ceiling of 1 US dollars/ },
    { harness: 'slow', limits: { runSeconds: 2 }, what: /2 seconds/ },
  ]
  test.each(shortened(ceilings, 1))('$harness', async ({ harness, limits, what }) => {
    const goal = await scene.goal([{ harness }], { limits })
    await scene.until(goal, 'awaiting_human')
    expect(isGone(harness)).toBe(true)
    expect(await scene.task(goal)).toMatchObject({ status: 'blocked(awaiting_human)' })
    const [run, ...more] = await scene.runs(goal)
    expect(more).toEqual([])
    expect(run).toMatchObject({ state: 'failed', commit: null, errorMeta: { failureCode: 'budget_exceeded' } })
    const [question] = await questionsOf(goal)
    expect(question).toMatchObject({
      kind: 'budget',
      choices: [{ kind: 'retry' }, { kind: 'hint' }, { kind: 'take_over' }, { kind: 'cancel' }],
      details: expect.stringMatching(what),
    })
    // What the agent had done is kept.
    const kept = await scene.get<{ id: string }[]>('/snapshots')
    expect(kept.some(({ id }) => id.startsWith(`${run?.id}-`))).toBe(true)
  })
})

test('an agent that lingers after its final result is ended, and its work counts', async () => {
  const goal = await scene.goal([{ harness: 'lingering' }])
  await scene.until(goal, 'ready', 'awaiting_human', 'paused')
  expect(isGone('lingering')).toBe(true)
  const [run, ...more] = await scene.runs(goal)
  expect(more).toEqual([])
  expect(run).toMatchObject({ state: 'success', errorMeta: null })
  expect(scene.show('made.txt', goal)).toBe('made')
})

test('an end that the agent takes back starts no clock', async () => {
  const goal = await scene.goal([{ harness: 'compacting' }])
  await scene.until(goal, 'ready', 'awaiting_human', 'paused')
  expect((await scene.runs(goal)).map(({ state }) => state)).toEqual(['success'])
  expect(scene.show('made.txt', goal)).toBe('made')
})

test('an ACP agent behind the bridge does a task', async () => {
  const goal = await scene.goal([{ harness: 'behindBridge' }])
  await scene.until(goal, 'ready', 'awaiting_human', 'paused')
  const [run, ...more] = await scene.runs(goal)
  expect(more).toEqual([])
  expect(run).toMatchObject({ state: 'success', harness: 'behindBridge', sessionId: 'sess-1' })
  expect(scene.show('made.txt', goal)).toBe('written')
})

test('a task that needs another starts when that one is merged, on top of it', async () => {
  const goal = await scene.goal([{ harness: 'steady' }, { harness: 'second', after: ['1'] }])
  await scene.until(goal, 'ready', 'awaiting_human')
  expect(scene.show('second.txt', goal)).toBe('after')
  const [first, second] = await scene.runs(goal)
  const [done] = await scene.events(goal, 'task.done')
  expect(second?.baseCommit).toBe(done?.payload['commit'])
  expect(Number(new Date(second?.startedAt ?? 0))).toBeGreaterThan(Number(new Date(first?.endedAt ?? Number.NaN)))
})

describe('answers', () => {
  test('retry: the task is tried again and the question is answered', async () => {
    const goal = await scene.goal([{ harness: 'improving' }])
    await scene.until(goal, 'awaiting_human')
    const [question] = await questionsOf(goal)
    expect(question?.choices.map(({ kind }) => kind)).toEqual([
      'hint',
      'take_over',
      'change_check',
      'commit_fix',
      'cancel',
    ])
    await scene.post<Task>(`/tasks/${(await scene.task(goal)).id}/retry`)
    await scene.until(goal, 'ready')
    expect(await questionsOf(goal)).toEqual([])
    expect((await scene.runs(goal)).map(({ state }) => state)).toEqual(['failed', 'success'])
  })

  test('cancel: the goal fails, what waited behind the task is cancelled with it', async () => {
    const goal = await scene.goal([{ harness: 'fenced' }, { harness: 'second', after: ['1'] }])
    await scene.until(goal, 'paused')
    await scene.post<Task>(`/tasks/${(await scene.task(goal)).id}/cancel`)
    await scene.post<Goal[]>('/resume', { goal })
    await scene.until(goal, 'failed')
    expect((await scene.task(goal, 2)).place).toBe('cancelled')
    expect((await questionsOf(goal)).filter(({ taskId }) => taskId !== null)).toEqual([])
  })

  test('resume: a blocker that was not mended blocks again, with one open question', async () => {
    const goal = await scene.goal([{ harness: 'fenced' }])
    await scene.until(goal, 'paused')
    const [first] = await questionsOf(goal)
    expect(first).toMatchObject({
      kind: 'blocker',
      choices: [{ kind: 'allow_directory' }, { kind: 'hint' }, { kind: 'take_over' }, { kind: 'cancel' }],
    })
    await scene.post<Goal[]>('/resume', { goal })
    await scene.waitFor('a second blocker', async () =>
      (await scene.events(goal, 'blocker')).length === 2 ? true : undefined,
    )
    await scene.until(goal, 'paused')
    const open = await questionsOf(goal)
    expect(open).toHaveLength(1)
    expect(open[0]?.id).not.toBe(first?.id)
    expect(existsSync(join(scene.top, 'outside', 'made.txt'))).toBe(false)
  })

  test('an engine that was stopped and started again still knows the question', async () => {
    const goal = await scene.goal([{ harness: 'fenced' }])
    await scene.until(goal, 'paused')
    const before = await questionsOf(goal)
    await scene.restart()
    expect(await questionsOf(goal)).toEqual(before)
    await scene.post<Goal>(`/goals/${goal}/cancel`)
    expect(await scene.until(goal, 'cancelled')).toMatchObject({ tasks: [{ status: 'cancelled' }] })
    expect(await questionsOf(goal)).toEqual([])
  })
})
