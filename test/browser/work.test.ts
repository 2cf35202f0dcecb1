/** The pages of what moves and of all work in Chromium, by keyboard: lists, filters in the address, equal failures, several tasks at once, the palette. */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EventView, GoalRequest, GoalView, TaskView } from '../../src/api/contract.ts'
import { standardTask, until } from '../hostile/scene.ts'
import { openBrowserScene, type BrowserScene } from './scene.ts'

/** To look at by hand: set UNSTUCK_SHOTS to a folder. */
const shots = process.env.UNSTUCK_SHOTS ?? mkdtempSync(join(tmpdir(), 'unstuck-shots-'))
const slow = { timeout: 240_000 }

let scene: BrowserScene
let page: Page
let gate: GoalView
let parser: GoalView

const press = (key: string): Promise<void> => page.keyboard.press(key)
const focused = (): Promise<string> => page.evaluate<string>('document.activeElement.innerText ?? ""')
const hash = (): string => new URL(page.url()).hash
const region = (name: string) => page.getByRole('region', { name })
const row = (title: string) => page.getByRole('row').filter({ hasText: title })
const tasksOf = async (goal: GoalView): Promise<TaskView[]> => (await scene.api<GoalView>(`/goals/${goal.id}`)).tasks
const violations = async (): Promise<string[]> => {
  await page.evaluate(`${axe.source}; undefined`)
  return page.evaluate<string[]>(
    'axe.run(document).then(({ violations }) => violations.filter(({ impact }) => /serious|critical/.test(impact)).flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`)))',
  )
}

beforeAll(async () => {
  mkdirSync(shots, { recursive: true })
  scene = await openBrowserScene()
  const landed = await scene.begin('Trust the folder', [{ title: 'Start in it', harness: 'untrusting' }])
  const stateOf = async () => (await scene.api<GoalView>(`/goals/${landed.id}`)).state
  await until(async () => ((await stateOf()) === 'ready' ? true : undefined), 'finished work')
  await scene.api(`/goals/${landed.id}/land`, {})
  await until(async () => ((await stateOf()) === 'done' ? true : undefined), 'landed work')
  gate = await scene.begin(
    'Tidy the documentation',
    ['first', 'second'].map((which) => ({
      ...{ title: `Rewrite the ${which} guide`, harness: 'untrusting', commands: ['node untouched.mjs'] },
    })),
  )
  await until(
    async () => ((await tasksOf(gate)).every(({ status }) => status === 'blocked(awaiting_human)') ? true : undefined),
    'two questions with the same cause',
  )
  parser = await scene.begin('Speed up the parser', [
    { title: 'Add a benchmark', harness: 'talker' },
    { title: 'Cache the tokens', harness: 'overloaded' },
    { title: 'Write the changelog', harness: 'talker', after: ['1'] },
    { title: 'Measure it', harness: 'talker', after: ['1'] },
  ])
  scene.say(3)
  await until(
    async () => ((await tasksOf(parser)).some(({ status }) => status === 'failed') ? true : undefined),
    'a failed task',
  )
  page = await scene.page(await scene.context({ viewport: { width: 1280, height: 900 } }))
}, 300_000)
afterAll(async () => scene?.clear())

test('the first page tells what needs the reader, what moves, what waits and why, and what landed', async () => {
  const yours = region('Needs you 2').getByRole('listitem')
  await yours.waitFor(slow)
  expect(await yours.innerText()).toMatch(/Rewrite the \w+ guide[\s\S]*and 1 more[\s\S]*untouched\.mjs/)
  const moving = region('Running 1').getByRole('listitem')
  await moving.getByText('line 3 of what I do').waitFor(slow)
  scene.say(4)
  await moving.getByText('line 4 of what I do').waitFor(slow)
  const waiting = region('Waiting 3').getByRole('listitem')
  expect(await waiting.allInnerTexts()).toEqual([
    expect.stringMatching(/failed[\s\S]*Cache the tokens[\s\S]*overloaded[\s\S]*retry in \d+ (s|min)/),
    expect.stringMatching(/queued[\s\S]*2 tasks[\s\S]*waiting for task 1/),
  ])
  await region('Landed today 1').getByRole('link', { name: 'Start in it' }).waitFor()
  expect(await page.getByRole('list', { name: 'In short' }).innerText()).toMatch(
    /2\s+need you\s+1\s+running\s+3\s+waiting\s+1\s+landed today/,
  )
  // A name of the code would be a riddle here.
  expect(await page.locator('main').innerText()).not.toMatch(
    /blocked|awaiting_|needs_rework|quota_wait|[A-Z]{4,}_[A-Z]/,
  )
  await page.screenshot({ path: join(shots, 'now.png'), fullPage: true })
})

test('by keyboard: through the lines, into a task and back', async () => {
  await press('j')
  expect(await focused()).toMatch(/Rewrite the \w+ guide/)
  await press('j')
  expect(await focused()).toMatch(/Add a benchmark/)
  expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
  await press('k')
  await press('j')
  await press('o')
  await page.getByRole('heading', { level: 1, name: /Add a benchmark/ }).waitFor(slow)
  await press('g')
  await press('w')
  await page.getByRole('heading', { level: 1, name: 'Work' }).waitFor(slow)
  await press('?')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  await press('j')
  await press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})

test('words to an agent at work are sent once', async () => {
  const id = (await tasksOf(parser)).find(({ title }) => title === 'Add a benchmark')?.id
  await page.goto(`${scene.url()}/#/tasks/${id}`)
  const field = page.getByLabel('What it should know now')
  await field.fill('Measure the lexer, too')
  await press('Enter')
  await until(async () => ((await field.inputValue()) === '' ? true : undefined), 'an empty field')
  expect(await page.getByRole('button', { name: /^Tell the agent/ }).isDisabled()).toBe(true)
  const sent = await scene.api<EventView[]>(`/events?task=${id}&limit=1000`)
  expect(sent.filter(({ type }) => type === 'run.message_sent')).toHaveLength(1)
})

test('a schedule says when it begins its goal, or what begins it', async () => {
  const goal: GoalRequest = {
    input: { title: 'Tidy up', requirement: 'Tidy up.', tasks: [standardTask], allowedDirs: [], warnings: [] },
    options: { autoMerge: false, repoMode: 'local', allowedDirs: [], harness: null, limits: {} },
  }
  await scene.api('/schedules', { goal, trigger: 'push' })
  await scene.api('/schedules', { goal, cron: '0 2 1 1 *', timeZone: 'UTC' })
  await page.goto(`${scene.url()}/#/`)
  const lines = region('Scheduled 2').getByRole('listitem')
  await lines.first().waitFor(slow)
  const shown = await lines.allInnerTexts()
  expect([shown.length, shown.filter((text) => text.includes('on push')).length]).toEqual([2, 1])
  for (const { id } of (await scene.status()).schedules) await scene.api(`/schedules/${id}/remove`, {})
})

test('Recovery says how often each cause was recovered from, what costs most, and stays readable everywhere', async () => {
  await press('g')
  await press('c')
  await page.getByRole('heading', { name: 'Recovery', exact: true }).waitFor(slow)
  const causes = page.getByRole('row').filter({ hasText: 'permissions' })
  await causes.first().waitFor(slow)
  // Two tasks whose check cannot pass: nothing helped, and the same failure is one line with both.
  const worst = page.getByRole('listitem').filter({ hasText: 'in 2 tasks' })
  expect(await worst.getByText(/^helped \d+ of \d+$/).count()).toBeGreaterThan(0)
  expect(await page.getByText(/: \d+ helped, \d+ did not$/).count()).toBe(14)
  await page.getByLabel('Period').selectOption('7')
  await expect.poll(() => page.getByText(/: \d+ helped, \d+ did not$/).count(), slow).toBe(7)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 900 })
      await page.screenshot({ path: join(shots, `recovery-${colorScheme}-${width}.png`), fullPage: true })
      expect(await violations()).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    }
  }
  await page.emulateMedia({ colorScheme: null })
  await page.setViewportSize({ width: 1280, height: 900 })
  await worst.getByRole('link').first().click()
  await page.getByRole('heading', { name: /Rewrite the \w+ guide/ }).waitFor(slow)
  await press('g')
  await press('w')
  await page.getByRole('heading', { level: 1, name: 'Work' }).waitFor(slow)
})

test('a filter is in the address, survives a reload, and keeps the focus while it is typed', async () => {
  await press('/')
  await page.keyboard.type('cache ?jx')
  expect(await page.getByRole('searchbox').inputValue()).toBe('cache ?jx')
  await page.getByText('No task matches').waitFor()
  for (const _ of '?jx') await press('Backspace')
  await row('Cache the tokens').waitFor()
  expect(await page.locator('tbody tr').count()).toBe(1)
  expect(await page.evaluate('document.activeElement.type')).toBe('search')
  await page.getByRole('combobox', { name: 'State' }).selectOption('failed')
  expect(hash()).toBe('#/work?text=cache+&state=failed')
  await page.reload()
  await row('Cache the tokens').waitFor(slow)
  expect(await page.getByRole('searchbox').inputValue()).toBe('cache ')
  await page.getByRole('link', { name: 'Reset' }).click()
  await row('Write the changelog').waitFor()
  expect(hash()).toBe('#/work')
})

test('the head of a column sorts, and turns the order round', async () => {
  const head = page.getByRole('columnheader', { name: 'Task' })
  await head.getByRole('button').click()
  await expect.poll(() => head.getAttribute('aria-sort')).toBe('ascending')
  await page.locator('tbody tr').first().getByText('Add a benchmark').waitFor()
  await head.getByRole('button').click()
  await expect.poll(() => head.getAttribute('aria-sort')).toBe('descending')
  await page.locator('tbody tr').last().getByText('Add a benchmark').waitFor()
  expect(hash()).toBe('#/work?sort=-task')
})

test('equal failures are together with their number; some tasks are retried at once, others cancelled', async () => {
  await page.goto(`${scene.url()}/#/work?goal=${gate.id}`)
  await page.getByLabel('Group by cause').check()
  const group = page.getByRole('row').filter({ hasText: /^2×/ })
  await group.waitFor()
  expect(await group.innerText()).toMatch(/untouched\.mjs/)
  expect(await violations()).toEqual([])
  const before = await tasksOf(gate)
  await group.getByRole('checkbox').check()
  const bar = region('Selected tasks')
  await page.screenshot({ path: join(shots, 'work-selected.png'), fullPage: true })
  await bar.getByRole('button', { name: 'Retry 2' }).click()
  await bar.getByRole('status').getByText('2 tasks retried.').waitFor(slow)
  await until(
    async () =>
      (await tasksOf(gate)).every(({ run }, index) => run !== null && run.number > (before[index]?.run?.number ?? 0))
        ? true
        : undefined,
    'a second attempt of both',
  )
  await page.goto(`${scene.url()}/#/work?goal=${parser.id}`)
  await row('Measure it').waitFor()
  await press('j')
  for (let moves = 0; !(await focused()).includes('Measure it') && moves < 9; moves += 1) await press('j')
  await press('x')
  await bar.getByText('1 selected').waitFor()
  await bar.getByRole('button', { name: 'Cancel 1' }).click()
  await page.getByRole('dialog', { name: 'Cancel this task?' }).waitFor()
  await press('Escape')
  expect((await tasksOf(parser)).map(({ status }) => status)).not.toContain('cancelled')
  await bar.getByRole('button', { name: 'Cancel 1' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel task' }).click()
  await bar.getByText('1 task cancelled.').waitFor(slow)
  expect((await tasksOf(parser)).find(({ title }) => title === 'Measure it')?.status).toBe('cancelled')
})

test('what the engine refuses is said with the name of the task', async () => {
  await page.goto(`${scene.url()}/#/work?goal=${parser.id}`)
  await row('Write the changelog').getByRole('checkbox').check()
  await page.route(/\/(status|events|health)/, (route) => route.abort())
  const id = (await tasksOf(parser)).find(({ title }) => title === 'Write the changelog')?.id
  await scene.api(`/tasks/${id}/cancel`, {})
  const bar = region('Selected tasks')
  await bar.getByRole('button', { name: 'Cancel 1' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel task' }).click()
  await bar.getByText(/^#3 Write the changelog: /).waitFor(slow)
  await page.unroute(/\/(status|events|health)/)
})

test('the palette finds pages and tasks, carries out actions, and asks before what cannot be undone', async () => {
  await press('Control+k')
  await page.keyboard.type('equal fail')
  await press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(hash()).toBe('#/work?group=cause')
  await press('Control+k')
  const field = page.getByRole('combobox', { name: 'Find a page, task or action' })
  await field.fill('pause speed')
  await page.getByRole('option', { name: /^Pause Speed up the parser/ }).waitFor()
  expect(await violations()).toEqual([])
  await page.screenshot({ path: join(shots, 'palette.png') })
  await press('Enter')
  await page.getByRole('status', { name: 'Last action' }).getByText('Pause Speed up the parser: done.').waitFor(slow)
  expect((await scene.api<GoalView>(`/goals/${parser.id}`)).state).toBe('paused')
  await press('Control+k')
  await field.fill('cancel speed')
  await press('Enter')
  await page.getByRole('dialog', { name: 'Cancel this goal?' }).waitFor()
  await press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect((await scene.api<GoalView>(`/goals/${parser.id}`)).state).toBe('paused')
  await press('Control+k')
  await field.fill('add bench')
  await press('ArrowDown')
  await press('ArrowUp')
  await press('Enter')
  await page.getByRole('heading', { level: 1, name: /Add a benchmark/ }).waitFor(slow)
})

test('on a phone the navigation is at the bottom and covers nothing', async () => {
  await page.setViewportSize({ width: 390, height: 844 })
  for (const address of ['#/', '#/work', '#/work?view=board', '#/inbox']) {
    await page.goto(`${scene.url()}/${address}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    const bottom = await page.evaluate<number>(
      "scrollTo(0, document.body.scrollHeight), document.querySelector('nav').getBoundingClientRect().top - document.querySelector('main').lastElementChild.getBoundingClientRect().bottom",
    )
    expect([address, bottom >= 0]).toEqual([address, true])
  }
  expect(scene.complaints.filter((text) => !/ERR_FAILED|status of 40[049]/.test(text))).toEqual([])
})
