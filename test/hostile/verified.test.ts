/** Agents that leave broken work behind and something that makes its checks pass: nothing of it may be called verified. */
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { GoalRequest, GoalView } from '../../src/api/contract.ts'
import { user } from '../workspace/scene.ts'
import { expectOneQuestion, openScene, type Scene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  const manifest = JSON.stringify({ name: 'p', version: '1.0.0', scripts: { test: 'node check.mjs' } })
  scene = await openScene(['planted-bin', 'late-repair'], {
    files: { 'package.json': manifest },
    ignored: ['node_modules/', '.venv/'],
  })
})
beforeEach(async () => scene.begin())
afterAll(async () => scene.clear())

const work = (harness: string, task: Partial<GoalRequest['input']['tasks'][number]> = {}): Promise<GoalView> =>
  scene.work([task], { harness })

const expectNothingVerified = async (goal: GoalView): Promise<void> => {
  expect(user(scene.root, 'log', '--all', '--format=%b', '--grep=Unstuck-Task')).toBe('')
  expect((await scene.events('run.finished')).filter(({ payload }) => payload.state === 'success')).toEqual([])
  expect(goal.state).not.toBe('ready')
}

test('a program that was planted where git ignores it makes no check pass', async () => {
  const goal = await work('planted-bin', { commands: ['npm test'] })
  await expectNothingVerified(goal)
  await expectOneQuestion(scene, goal, /npm test/)
  await scene.expectUnharmed()
})

test('what repairs the work while it is checked makes no check pass', async () => {
  const goal = await work('late-repair')
  await expectNothingVerified(goal)
  await expectOneQuestion(scene, goal, /node check\.mjs/)
  expect(user(join(scene.root), 'show', 'main:src/work.txt')).toBe('open')
  await scene.expectUnharmed()
})
