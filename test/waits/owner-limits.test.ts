/** Settings with which the owner holds work back: its size, tokens per hour, and checks that must run as the task names them. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { GoalView, Run, StatusView } from '../../src/api/contract.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'

const agents: Record<string, FaultAgent> = {
  made: {
    driver: 'command',
    program: `count('TOP/starts'); put('made.txt', 'made'); for (const name of ['b', 'c']) put('more/' + name + '.txt', 'line\\n'.repeat(3))`,
  },
  // Every start uses 500 tokens.
  counted: {
    driver: 'claude',
    program: `begin(); usage(500); put('made.txt', 'made'); put('by-' + count('TOP/starts') + '.txt', 'x'); end()`,
  },
}

let scene: Scene
afterEach(() => scene.clear())

const configure = (change: object): void => {
  const path = join(scene.root, '.unstuck', 'config.json')
  writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, 'utf8')) as object), ...change }))
}
const questionsOf = async (goal: string): Promise<StatusView['escalations']> =>
  (await scene.questions()).filter(({ goalId }) => goalId === goal)
const question = (goal: string) =>
  scene.waitFor('a question', async () => {
    const [first] = await questionsOf(goal)
    return first
  })
const branchOf = (goal: string): string =>
  execFileSync('git', ['log', '--format=%s', `unstuck/goal/${goal}`], { cwd: scene.root, encoding: 'utf8' }).trim()

describe('work that is larger than the limits', () => {
  test('is asked about once, with its numbers, and lands as it is when it is approved', async () => {
    scene = await openScene(agents, { change: { maxFiles: 2, maxLines: 100 } })
    const goal = await scene.goal([{}])
    const asked = await question(goal)
    expect(asked.happened).toBe(
      'Task 1 "Task 1" passes its checks, but it changes 3 files and 7 lines, more than change.maxFiles (2) allows.',
    )
    expect(asked.question.split('\n').length).toBeLessThanOrEqual(3)
    expect(asked.details).toContain('Largest: more/b.txt (3 lines), more/c.txt (3 lines), made.txt (1 lines).')
    expect(asked.choices.map(({ kind }) => kind)).toEqual(['approve', 'reject', 'hint', 'take_over', 'cancel'])
    expect(branchOf(goal)).toBe('Start')
    const { id } = await scene.task(goal)
    await scene.post(`/tasks/${id}/approve`)
    await scene.until(goal, 'ready')
    expect(scene.show('more/c.txt', goal)).toBe('line\nline\nline')
    const [run, ...more] = await scene.runs(goal)
    expect([more, await questionsOf(goal)]).toEqual([[], []])
    expect(run?.verdict?.oversized).toMatchObject({
      files: 3,
      lines: 7,
      limits: [{ setting: 'change.maxFiles', limit: 2 }],
    })
    expect((await scene.events(goal, 'judge.review')).map(({ payload }) => payload.verdict)).toEqual([
      ...['ask_person', 'approve'],
    ])
    expect(await scene.recoveries(goal)).toEqual([])
  })

  test('is asked about by its lines, in the owner’s own folder too, and never with -1', async () => {
    scene = await openScene(agents, { change: { maxFiles: -1, maxLines: 6 } })
    const direct = await scene.goal([{}], { repoMode: 'direct' })
    expect((await question(direct)).happened).toMatch(/3 files and 7 lines, more than change\.maxLines \(6\) allows/)
    expect((await scene.task(direct)).place).toBe('blocked(awaiting_human)')
    execFileSync('git', ['clean', '-qfd'], { cwd: scene.root })
    configure({ change: { maxFiles: -1, maxLines: -1 } })
    const free = await scene.goal([{}])
    await scene.until(free, 'ready')
    expect(await questionsOf(free)).toEqual([])
  })
})

describe('tokens per hour', () => {
  test('at the limit no task starts; it says why and until when, and starts when there is room', async () => {
    scene = await openScene(agents, { limits: { hourTokens: 400 } })
    const goal = await scene.goal([{}, { after: ['1'] }], { harness: 'counted' })
    const second = await scene.waitFor('the second waits for tokens', async () => {
      const { nextStep } = await scene.task(goal, 2)
      return nextStep?.waitsFor === 'hour_tokens' ? nextStep : undefined
    })
    expect(second).toMatchObject({
      owner: 'dispatcher',
      text: '500 tokens were used in the last hour, of 400 allowed (limits.hourTokens); work starts again',
    })
    const { at } = await scene.get<StatusView>('/status')
    const minutes = (Date.parse(second.at ?? '') - Date.parse(at)) / 60_000
    expect(minutes > 50 && minutes <= 60).toBe(true)
    expect((await scene.get<{ ok: boolean }>('/doctor')).ok).toBe(true)
    const view = await scene.get<GoalView>(`/goals/${goal}`)
    expect(Object.keys(view.limits)).not.toContain('hourTokens')
    const runs = await scene.runs(goal)
    expect([runs.map(({ state }: Run) => state), await scene.recoveries(goal)]).toEqual([['success'], []])
    configure({ limits: { hourTokens: 2000 } })
    await scene.until(goal, 'ready')
  })
})

describe('a check of the task that cannot run', () => {
  const checks = { commands: ['npm run none', 'node check.js'] }
  test('is dropped by default', async () => {
    scene = await openScene(agents)
    const goal = await scene.goal([checks])
    await scene.until(goal, 'ready')
    expect((await scene.runs(goal))[0]?.verdict?.dropped).toMatchObject([{ command: 'npm run none' }])
  })

  test('blocks where the owner wants that: no check takes its place, and nothing lands', async () => {
    scene = await openScene(agents, {}, { environment: { WORKER_VERIFY_SKIP_MISSING_EXPLICIT_SCRIPT: 'false' } })
    const goal = await scene.goal([checks])
    const run = await scene.waitFor('the run has failed', async () =>
      (await scene.runs(goal)).find(({ state }) => state === 'failed'),
    )
    expect(run.errorMeta).toMatchObject({
      failureCode: 'verification_command_missing_script',
      failedCommand: 'npm run none',
    })
    expect([run.verdict?.dropped, run.launches.length]).toEqual([[], 1])
    expect(await scene.recoveries(goal)).toEqual([])
    expect(branchOf(goal)).toBe('Start')
  })
})
