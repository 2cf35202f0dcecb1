/** A person who cancels a task has decided about the tasks that need it as well: nothing is asked, and what else was done can land. */
import { afterEach, expect, test } from 'vitest'
import { openScene, type Scene } from '../recovery/scene.ts'

let scene: Scene
afterEach(() => scene.clear())

test('the dependents of a task that a person cancels are cancelled without a question, and redone with it', async () => {
  scene = await openScene(
    { agent: { driver: 'command', program: `put('made.txt', String(count('TOP/starts')))` } },
    { maxParallel: 1 },
  )
  const commands = ['node check.js']
  const goal = await scene.goal([
    { id: '1', commands },
    { id: '2', commands, after: ['1'] },
    { id: '3', commands },
  ])
  const first = (await scene.task(goal, 1)).id
  await scene.post(`/tasks/${first}/cancel`, { by: 'me' })
  const ended = await scene.until(goal, 'failed', 'awaiting_human')
  expect(ended.tasks.map(({ place }) => place)).toEqual(['cancelled', 'cancelled', 'done'])
  expect([ended.state, await scene.questions()]).toEqual(['failed', []])
  await scene.post(`/tasks/${first}/retry`, { by: 'me' })
  const again = await scene.until(goal, 'ready', 'awaiting_human')
  expect(again.tasks.map(({ place }) => place)).toEqual(['done', 'done', 'done'])
})
