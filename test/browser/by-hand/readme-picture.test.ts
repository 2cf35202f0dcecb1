/** Takes the picture of the dashboard that README shows: docs/images/dashboard.png. CONTRIBUTING.md names the command. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { GoalView, TaskView } from '../../../src/api/contract.ts'
import { until } from '../../hostile/scene.ts'
import { openBrowserScene, type BrowserScene } from '../scene.ts'

const picture = fileURLToPath(new URL('../../../docs/images/dashboard.png', import.meta.url))
const fixture = (name: string): string => join(import.meta.dirname, '../../fixture/browser', name)

const tasksOf = async (scene: BrowserScene, { id }: GoalView): Promise<TaskView[]> =>
  (await scene.api<GoalView>(`/goals/${id}`)).tasks

const busy = (sentence: string) => ({
  driver: 'claude',
  command: [process.execPath, fixture('worker.mjs'), sentence],
})

const landOne = async (scene: BrowserScene): Promise<void> => {
  const landed = await scene.begin('Answer health checks', [{ title: 'Add a health endpoint', harness: 'untrusting' }])
  const stateOf = async () => (await scene.api<GoalView>(`/goals/${landed.id}`)).state
  await until(async () => (await stateOf()) === 'ready' || undefined, 'finished work')
  await scene.api(`/goals/${landed.id}/land`, {})
  await until(async () => (await stateOf()) === 'done' || undefined, 'landed work')
}

/** The check passes without the work and fails with it, so the task ends with a question. */
const askOne = async (scene: BrowserScene): Promise<void> => {
  const goal = await scene.begin('Tidy the documentation', [
    { title: 'Rewrite the guide for plugins', harness: 'untrusting', commands: ['node untouched.mjs'] },
  ])
  const asked = async () => (await tasksOf(scene, goal)).every(({ status }) => status === 'blocked(awaiting_human)')
  await until(async () => (await asked()) || undefined, 'a question')
}

test('the first page while two agents work, one waits and one asks', async () => {
  const scene = await openBrowserScene(
    {},
    {
      claude: busy('The tokeniser is called twice for each line; I move the cache into it.'),
      codex: busy('Reading bench/parse.ts to find what the old benchmark measured.'),
    },
  )
  try {
    await askOne(scene)
    await landOne(scene)
    const goal = await scene.begin('Speed up the parser', [
      { title: 'Add a benchmark', harness: 'codex' },
      { title: 'Cache the tokens', harness: 'claude' },
      { title: 'Split the lexer', harness: 'overloaded' },
      { title: 'Write the changelog', harness: 'claude', after: ['1', '2'] },
    ])
    await until(
      async () => (await tasksOf(scene, goal)).some(({ status }) => status === 'failed') || undefined,
      'a task that waits for its provider',
    )
    const page = await scene.page(await scene.context({ viewport: { width: 1160, height: 760 }, colorScheme: 'light' }))
    await page.getByText('I move the cache into it').waitFor()
    await page.getByText('Reading bench/parse.ts').waitFor()
    // The folder of the scene is a temporary one, with another name each time.
    await page.evaluate(
      `for (const element of document.querySelectorAll('header *')) if (element.childElementCount === 0 && element.textContent === ${JSON.stringify(scene.root)}) element.textContent = '~/src/parser'`,
    )
    await page.screenshot({ path: picture })
    // The agents of this scene never end by themselves.
    await scene.api(`/goals/${goal.id}/cancel`, {})
    await until(
      async () => (await scene.status()).agents.every(({ state }) => state !== 'busy') || undefined,
      'the end of the agents',
    )
    expect(statSync(picture).size).toBeLessThan(120_000)
  } finally {
    await scene.clear()
  }
})
