/** A person writes to an agent at work: it is interrupted, keeps its files, and continues with the message. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openScene, type Scene } from '../recovery/scene.ts'

let scene: Scene
afterEach(() => scene.clear())

/** Works on the wrong colour, and never ends until it is told the right one. */
const painter = `begin()
  const told = args.some((text) => text.includes('Use blue'))
  put(told ? 'colour.txt' : 'begun.txt', told ? 'blue' : 'red')
  put('TOP/at-work', String(count('TOP/launches')))
  if (told) end(); else setInterval(() => undefined, 1000)`

const atWork = async (goal: string): Promise<string> => {
  await expect.poll(() => existsSync(join(scene.top, 'at-work')), { timeout: 60_000 }).toBe(true)
  return (await scene.task(goal)).id
}

test('it goes on in its session with what it wrote, and later attempts know the message', async () => {
  scene = await openScene({ painter: { driver: 'claude', program: painter } })
  const goal = await scene.goal([{ commands: ['grep blue colour.txt'] }])
  const id = await atWork(goal)
  await expect(scene.post(`/tasks/${id}/tell`, { message: ' ' })).rejects.toThrow(/empty/)
  await expect(scene.post(`/tasks/${id}/tell`, { message: 'x'.repeat(1001) })).rejects.toThrow(/400 .*message/)
  expect(await scene.post(`/tasks/${id}/tell`, { message: 'Use blue', by: 'ada' })).toMatchObject({ hint: 'Use blue' })
  await scene.until(goal, 'ready')
  expect([scene.show('colour.txt', goal), scene.show('begun.txt', goal)]).toEqual(['blue', 'red'])
  const [run, ...more] = await scene.runs(goal)
  expect([more, run?.message]).toEqual([[], null])
  expect(run?.launches.map(({ resumeSession }) => resumeSession)).toEqual([null, run?.sessionId])
  // It costs no recovery: nothing failed.
  expect(await scene.recoveries(goal)).toEqual([])
  expect((await scene.events(goal, 'run.message_read')).map(({ payload }) => payload)).toEqual([
    { text: 'Use blue', resumed: true },
  ])
  await expect(scene.post(`/tasks/${id}/tell`, { message: 'Use green' })).rejects.toThrow(/409 .*is done/)
})

test('a message outlives the engine that was to deliver it', async () => {
  scene = await openScene({ painter: { driver: 'claude', program: painter } })
  const goal = await scene.goal([{ commands: ['grep blue colour.txt'] }])
  const id = await atWork(goal)
  await scene.post(`/tasks/${id}/tell`, { message: 'Use blue' })
  await scene.restart()
  await scene.until(goal, 'ready')
  expect(scene.show('colour.txt', goal)).toBe('blue')
})
