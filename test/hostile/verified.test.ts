/** Agents that leave broken work behind and something that makes its checks pass: nothing of it may be called verified. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { GoalRequest, GoalView, Run } from '../../src/api/contract.ts'
import { user } from '../workspace/scene.ts'
import { expectOneQuestion, openScene, type Scene } from './scene.ts'
import { shortened } from '../support/form.ts'

let scene: Scene
beforeAll(async () => {
  const manifest = JSON.stringify({ name: 'p', version: '1.0.0', scripts: { test: 'node check.mjs' } })
  scene = await openScene(
    ['planted-bin', 'late-repair', 'shadow-bin', 'archive-bin', 'install-hook', 'committed-bin', 'npmrc-places'],
    {
      files: { 'package.json': manifest },
      ignored: ['node_modules/', '.venv/'],
    },
  )
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

const replacing = [
  ['install-hook', 'package.json (1): postinstall: none -> echo done > src/work.txt'],
  ['shadow-bin', 'lib/package.json (1): brings programs called node, sh'],
  ['archive-bin', 'package.json (1): brings programs called node'],
  ['committed-bin', 'node_modules/.bin/npm (1): takes precedence over the programs of the system'],
] as const

test.each(shortened(replacing, 2))(
  '%s: what takes the place of a program of the check is told to it once, then to a person',
  async (agent, finding) => {
    const goal = await work(agent, { commands: ['npm test'] })
    await expectOneQuestion(scene, goal, /weakened/)
    const [question] = (await scene.status()).escalations.filter(({ goalId }) => goalId === goal.id)
    expect(question?.details).toContain(finding)
    expect(user(scene.root, 'log', '--all', '--format=%b', '--grep=Unstuck-Task')).toBe('')
    await scene.expectUnharmed()
  },
)

test('npm writes nothing where the work tells it to, and the packages are installed all the same', async () => {
  const goal = await work('npmrc-places', { commands: ['test -e src/work.txt'] })
  expect(globSync(`${scene.stateDir}/runs/*/written`)).toEqual([])
  expect(goal.state).toBe('ready')
  const [run] = await scene.api<Run[]>(`/runs?goal=${goal.id}`)
  expect(run?.verdict?.installed).toHaveLength(1)
  await scene.expectUnharmed()
})
