/** What is done of a goal lands while the rest is stuck, or after the goal was cancelled: nobody loses finished work to unfinished work. */
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { GoalView } from '../../src/api/contract.ts'
import { runHere, type Ended } from '../cli/in-process.ts'
import { openScene, type FaultAgent, type Scene } from '../recovery/scene.ts'
import { isLongForm } from '../support/form.ts'

const git = (root: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root, encoding: 'utf8' }).trim()

const writes = (path: string): FaultAgent => ({ driver: 'command', program: `writeFileSync('${path}', 'made')` })
const agents = { a: writes('a.txt'), b: writes('b.txt') }

const opened: Scene[] = []
afterEach(async () => {
  for (const scene of opened.splice(0)) await scene.clear()
})

const open = async (): Promise<Scene> => {
  const scene = await openScene(agents, { maxParallel: 2 })
  opened.push(scene)
  return scene
}

const cli = (scene: Scene, ...args: string[]): Promise<Ended> => {
  const { PATH, HOME } = process.env
  return runHere(args, { cwd: scene.root, environment: { PATH, HOME, UNSTUCK_HOME: join(scene.top, 'home') } })
}

const on = (scene: Scene, branch: string, path: string): string => {
  try {
    return git(scene.root, 'show', `${branch}:${path}`)
  } catch {
    return 'absent'
  }
}

const commitByHand = (scene: Scene): void => {
  writeFileSync(join(scene.root, 'by-hand.txt'), 'mine')
  git(scene.root, 'add', 'by-hand.txt')
  git(scene.root, 'commit', '-qm', 'By hand')
}

/** The first task is done, the second one waits for a person. */
const halfDone = async (scene: Scene): Promise<string> => {
  const goal = await scene.goal([
    { harness: 'a', commands: ['node -e 0'] },
    { harness: 'b', commands: ['no-such-program'] },
  ])
  await scene.until(goal, 'awaiting_human')
  expect((await scene.task(goal, 1)).status).toBe('done')
  return goal
}

const goalOf = (scene: Scene, id: string): Promise<GoalView> => scene.get<GoalView>(`/goals/${id}`)

it('lands beside a stuck task, which goes on and lands later', async () => {
  const scene = await open()
  const goal = await halfDone(scene)
  expect((await goalOf(scene, goal)).partCommand).toBe(`unstuck land ${goal} --done`)
  const whole = await cli(scene, 'land', goal)
  expect([whole.exitCode === 0, whole.stderr]).toEqual([false, expect.stringContaining(`unstuck land ${goal} --done`)])
  const landed = await cli(scene, 'land', goal, '--done')
  expect([landed.exitCode, landed.stderr]).toEqual([0, ''])
  expect([on(scene, 'main', 'a.txt'), on(scene, 'main', 'b.txt')]).toEqual(['made', 'absent'])
  const after = await goalOf(scene, goal)
  expect([after.state, after.partCommand]).toEqual(['awaiting_human', null])
  const { id } = await scene.task(goal, 2)
  const [question] = await scene.questions()
  await scene.post(`/escalations/${question?.id}/answer`, { choice: 'change_check', input: 'node -e 0' })
  await scene.until(goal, 'ready')
  expect((await scene.task(goal, 2)).id).toBe(id)
  expect((await cli(scene, 'land', goal)).exitCode).toBe(0)
  expect(on(scene, 'main', 'b.txt')).toBe('made')
})

it.runIf(isLongForm)('is rebased onto a branch that has moved, and verified there first', async () => {
  const scene = await open()
  const goal = await halfDone(scene)
  commitByHand(scene)
  expect((await cli(scene, 'land', goal, '--done')).exitCode).toBe(0)
  expect([on(scene, 'main', 'a.txt'), on(scene, 'main', 'by-hand.txt')]).toEqual(['made', 'mine'])
  expect(await scene.events(goal, 'goal.rebased')).toHaveLength(1)
  await scene.until(goal, 'awaiting_human')
  expect(git(scene.root, 'log', '--merges', '--oneline')).toBe('')
})

it('is not lost with a cancelled goal, on the branch of that time or on another one', async () => {
  const scene = await open()
  const goal = await halfDone(scene)
  const cancelled = await cli(scene, 'cancel', goal)
  expect(cancelled.stdout).toContain(`unstuck land ${goal} --done`)
  commitByHand(scene)
  git(scene.root, 'branch', 'next')
  const nowhere = await cli(scene, 'land', goal, '--done', '--into', 'nowhere')
  expect([nowhere.exitCode, nowhere.stderr]).toEqual([2, expect.stringContaining('nowhere')])
  const own = await cli(scene, 'land', goal, '--done', '--into', `unstuck/goal/${goal}`)
  expect([own.exitCode, own.stderr]).toEqual([2, expect.stringContaining('--into')])
  const landed = await cli(scene, 'land', goal, '--done', '--into', 'next')
  expect([landed.exitCode, landed.stderr]).toEqual([0, ''])
  expect([on(scene, 'next', 'a.txt'), on(scene, 'next', 'by-hand.txt')]).toEqual(['made', 'mine'])
  expect(on(scene, 'main', 'a.txt')).toBe('absent')
  const { tasks } = await scene.until(goal, 'cancelled')
  expect(tasks.map(({ status }) => status)).toEqual(['done', 'cancelled'])
  expect((await goalOf(scene, goal)).partCommand).toBeNull()
  expect(await scene.questions()).toEqual([])
})

it.runIf(isLongForm)(
  'is not landed where its checks fail on the newer base: it is done again, and the goal waits as before',
  async () => {
    const scene = await open()
    const tool = join(scene.top, 'tool')
    writeFileSync(tool, '#!/bin/sh\nexit 0\n', { mode: 0o755 })
    const goal = await scene.goal([
      { harness: 'a', commands: [tool] },
      { harness: 'b', commands: ['no-such-program'] },
    ])
    await scene.until(goal, 'awaiting_human')
    rmSync(tool)
    commitByHand(scene)
    const refused = await cli(scene, 'land', goal, '--done')
    expect([refused.exitCode, refused.stdout]).toEqual([3, expect.stringContaining('not landed')])
    await scene.until(goal, 'awaiting_human')
    expect(on(scene, 'main', 'a.txt')).toBe('absent')
  },
)

it.runIf(isLongForm)(
  'is refused in words where nothing is done, or where a file of the user is in the way',
  async () => {
    const scene = await open()
    const nothing = await scene.goal([{ harness: 'b', commands: ['no-such-program'] }])
    await scene.until(nothing, 'awaiting_human')
    expect((await cli(scene, 'land', nothing, '--done')).stderr).toMatch(/no work of it is done/)
    const goal = await halfDone(scene)
    writeFileSync(join(scene.root, 'a.txt'), 'of the user')
    const refused = await cli(scene, 'land', goal, '--done')
    expect([refused.exitCode, refused.stdout]).toEqual([3, expect.stringContaining('a.txt')])
    expect(on(scene, 'main', 'a.txt')).toBe('absent')
    expect((await goalOf(scene, goal)).partCommand).toBe(`unstuck land ${goal} --done`)
  },
)
