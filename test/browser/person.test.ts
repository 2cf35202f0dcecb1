/** What a person changes about a task in the dashboard: a hint with the retry, and the task itself, by keyboard and on a phone. */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EventView, GoalView, TaskView } from '../../src/api/contract.ts'
import { until } from '../hostile/scene.ts'
import { openBrowserScene, type BrowserScene } from './scene.ts'

/** To look at by hand: set UNSTUCK_SHOTS to a folder. */
const shots = process.env.UNSTUCK_SHOTS ?? mkdtempSync(join(tmpdir(), 'unstuck-shots-'))
const slow = { timeout: 240_000 }

let scene: BrowserScene
let page: Page
let goal: GoalView
let id: string
beforeAll(async () => {
  mkdirSync(shots, { recursive: true })
  scene = await openBrowserScene()
  page = await scene.page(await scene.context())
  goal = await scene.begin('Tidy the documentation', [{ title: 'Rewrite the guide', harness: 'fenced' }])
  await until(async () => ((await now()).place === 'blocked(awaiting_human)' ? true : undefined), 'the question')
  await page.goto(`${scene.url()}/#/tasks/${id}`)
})
afterAll(async () => scene?.clear())

const now = async (): Promise<TaskView> => {
  const task = (await scene.api<GoalView>(`/goals/${goal.id}`)).tasks[0] as TaskView
  id = task.id
  return task
}
const edits = async (): Promise<EventView['payload'][]> =>
  (await scene.api<EventView[]>(`/events?task=${id}&limit=1000`))
    .filter(({ type }) => type === 'task.edited')
    .map(({ payload }) => payload)

test('a task is edited by the keyboard; what is refused is said, and what was not touched is not sent', async () => {
  await page.getByRole('button', { name: 'Edit', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.getByLabel('Allowed paths').fill('src/**\ndocs/**')
  await page.getByLabel('Checks').fill('cat a | grep b')
  await page.getByRole('button', { name: 'Save' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('without a shell').waitFor(slow)
  await page.getByLabel('Checks').fill('node check.mjs\ntrue')
  await page.getByLabel('Title').fill('Rewrite the whole guide')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('Saved.').waitFor(slow)
  await page.getByRole('heading', { name: 'Rewrite the whole guide' }).waitFor(slow)
  expect(await now()).toMatchObject({ commands: ['node check.mjs', 'true'], allowedPaths: ['src/**', 'docs/**'] })
  expect(
    (await edits()).map(({ by, changes }) => [by, (changes as { field: string }[]).map(({ field }) => field)]),
  ).toEqual([['dashboard', ['title', 'allowedPaths', 'commands']]])
})

test('wider paths need a reason, and on a phone the form fits', async () => {
  await page.setViewportSize({ width: 375, height: 800 })
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByLabel('Allowed paths').fill('src/**\ndocs/**\nguide/**')
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await page.screenshot({ path: join(shots, 'edit-phone.png'), fullPage: true })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').getByText('guide/**').waitFor(slow)
  await page.getByLabel('Reason').fill('the guide has a folder')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('status').getByText('Saved.').waitFor(slow)
  expect((await edits()).at(-1)).toMatchObject({ widened: ['guide/**'], why: 'the guide has a folder' })
})

test('a task is taken over: the page shows the line of its folder, and it can be given back', async () => {
  await page.getByRole('button', { name: /^Take over/ }).click()
  await page.getByText('This task was taken over.').waitFor(slow)
  const { takenOver } = await now()
  expect(await page.locator('.taken-over pre').innerText()).toBe(takenOver?.command)
  expect(await page.getByRole('button', { name: /^Take over/ }).count()).toBe(0)
  await page.getByRole('button', { name: /^Give back/ }).waitFor()
  await page.screenshot({ path: join(shots, 'taken-over-phone.png'), fullPage: true })
})

test('a retry takes a hint along, and Enter in its field is enough', async () => {
  const field = page.getByLabel('Hint for all further attempts')
  await field.fill('Write it into src/work.txt')
  await page.keyboard.press('Enter')
  await until(async () => ((await now()).hint === null ? undefined : true), 'the hint')
  expect((await now()).hint).toBe('Write it into src/work.txt')
  await page.getByText('Write it into src/work.txt').first().waitFor(slow)
  expect(scene.complaints.filter((text) => !/status of 400/.test(text))).toEqual([])
})
