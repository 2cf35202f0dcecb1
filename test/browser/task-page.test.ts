/** The pages of a task, a run and a goal, of work that failed its check twice before it passed, and of work that waits for a person. */
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GoalView, Judgement, Run, TaskView } from '../../src/api/contract.ts'
import { until } from '../hostile/scene.ts'
import { openBrowserScene, type BrowserScene } from './scene.ts'

/** To look at by hand: set UNSTUCK_SHOTS to a folder. */
const shots = process.env.UNSTUCK_SHOTS ?? mkdtempSync(join(tmpdir(), 'unstuck-shots-'))
const slow = { timeout: 240_000 }
const attempts = fileURLToPath(new URL('../fixture/browser/attempts.mjs', import.meta.url))

let scene: BrowserScene
let page: Page
let goal: GoalView

const agent = (memory: string): object => ({
  driver: 'claude',
  command: [process.execPath, attempts, join(shots, memory)],
})

const task = async (number: number): Promise<TaskView> =>
  (await scene.api<GoalView>(`/goals/${goal.id}`)).tasks.find((one) => one.number === number) as TaskView

const runOf = async (number: number): Promise<Run> => {
  const { id } = await task(number)
  return until(
    async () => (await scene.api<Run[]>(`/runs?goal=${goal.id}`)).findLast(({ taskId }) => taskId === id),
    'a run',
  )
}

const region = (title: string) =>
  page.locator('section.panel').filter({ has: page.getByRole('heading', { level: 2, name: title }) })

beforeAll(async () => {
  mkdirSync(shots, { recursive: true })
  scene = await openBrowserScene({
    harness: {
      default: 'third',
      third: agent(`third-${process.pid}`),
      reviewed: agent(`reviewed-${process.pid}`),
      talker: {
        driver: 'command',
        command: [process.execPath, fileURLToPath(new URL('../fixture/browser/talker.mjs', import.meta.url)), shots],
      },
    },
  })
  goal = await scene.begin('Read <zones>', [
    { title: 'Parse the zone', allowedPaths: ['src/**'], deniedPaths: ['docs/**'] },
    { title: 'Publish <it>', after: ['1'], harness: 'reviewed', judge: 'human' },
    { title: 'Tell everybody', after: ['2', '1'] },
  ])
  page = await scene.page(await scene.context({ viewport: { width: 1280, height: 900 } }))
  await until(async () => ((await task(1)).status === 'done' ? true : undefined), 'the first task')
}, 600_000)
afterAll(async () => scene?.clear())

describe('the page of a task', () => {
  test('has one axis of time on which each attempt, launch, check and recovery is a bar that says what it was', async () => {
    await page.goto(`${scene.url()}/#/tasks/${(await task(1)).id}`)
    const lane = (name: string) => region('Timeline').getByRole('list', { name }).getByRole('listitem')
    await lane('Merging').first().waitFor(slow)
    expect(await lane('Attempts').count()).toBe(1)
    expect(await lane('Agent').count()).toBe(3)
    expect(await lane('Checks').count()).toBe(3)
    const recoveries = lane('Recoveries').getByRole('link')
    expect(await recoveries.evaluateAll((links) => links.map((link) => link.getAttribute('aria-label')))).toEqual([
      expect.stringMatching(/^Sent the failure back to the agent: it did not help, /),
      expect.stringMatching(/^Gave the failure to a new session of the agent: it helped, /),
    ])
    const width = async (): Promise<number> => (await lane('Attempts').first().boundingBox())?.width ?? 0
    const before = await width()
    await page.getByRole('button', { name: 'Zoom in' }).click()
    await expect.poll(width).toBeGreaterThan(before * 1.8)
  })

  test('says the verdict with the output of each check, the fence, the cost, and what was tried, without internal words', async () => {
    const verdict = region('Verdict of run 1')
    await verdict.getByText('node check.mjs', { exact: true }).first().click()
    await verdict.getByText('It printed nothing.').waitFor(slow)
    expect(await region('Path fence').innerText()).toMatch(
      /May change[\s\S]*src\/\*\*[\s\S]*May not change[\s\S]*docs\/\*\*/,
    )
    expect(await region('Cost').innerText()).toMatch(/1 run, 3 launches/)
    const tried = region('What was tried').getByRole('listitem')
    expect(await tried.count()).toBe(2)
    expect(await tried.first().innerText()).toMatch(
      /Sent the failure back to the agent[\s\S]*it did not help[\s\S]*Because:/,
    )
    expect(await page.locator('main').innerText()).not.toMatch(/\b[A-Z]{3,}_[A-Z_]+\b|check-feedback/)
  })

  test('shows the change file by file, in colours, a large file folded, side by side when asked, and hostile text as text', async () => {
    const changes = region('Changes')
    await changes.getByRole('list', { name: 'Changed files' }).waitFor(slow)
    await changes.getByText('<img src=x onerror="window.harmed=1"> ⟨202E⟩').first().waitFor()
    await changes.locator('[style*="--code-keyword"]').first().waitFor(slow)
    const many = changes.locator('details').filter({ hasText: 'src/many.json' })
    expect(await many.getAttribute('open')).toBeNull()
    await changes.getByRole('button', { name: 'src/many.json' }).click()
    await many.getByRole('button', { name: /more lines of this file$/ }).waitFor()
    await page.getByLabel('Side by side').check()
    await changes.locator('.diff-pair').first().waitFor()
    await page.getByLabel('Side by side').uncheck()
    expect(await page.evaluate('[window.harmed, document.querySelectorAll("#root img, #root script").length]')).toEqual(
      [undefined, 0],
    )
  })
})

describe('a note on a line', () => {
  test('is written by keyboard, outlives a look elsewhere, and becomes the note of a rejection', async () => {
    await until(async () => ((await task(2)).actions.includes('reject') ? true : undefined), 'the decision of a person')
    const run = await runOf(2)
    await page.goto(`${scene.url()}/#/runs/${run.id}/diff`)
    const number = page.getByRole('button', { name: 'Note on line 2', exact: true }).first()
    await number.waitFor(slow)
    const first = page
      .locator('.diff-lines')
      .filter({ hasText: 'export const turn' })
      .locator('button.diff-number')
      .first()
    await first.focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.keyboard.type('Call it zone.')
    await page.getByRole('button', { name: 'Keep the note' }).click()
    await page.goto(`${scene.url()}/#/`)
    await page.goto(`${scene.url()}/#/runs/${run.id}/diff`)
    await page.getByText('Call it zone.').waitFor(slow)
    await page.getByRole('button', { name: 'Reject with these notes' }).click()
    await page.getByText('Your notes were sent.').waitFor(slow)
    const judged = await scene.api<Judgement[]>(`/judgements?task=${(await task(2)).id}`)
    expect(judged.flatMap(({ points }) => points.map(({ what }) => what))).toEqual([
      'src/zone.ts, removed line 2 (export const turn = 3): Call it zone.',
    ])
    expect(await page.locator('.diff-note').count()).toBe(0)
  })
})

describe('the log of a run', () => {
  test('is coloured, folds calls of tools, and every line has an address', async () => {
    const run = await runOf(1)
    await page.goto(`${scene.url()}/#/runs/${run.id}`)
    const log = page.getByRole('log')
    await log.getByText('End of the log.').waitFor(slow)
    expect(await log.locator('.hue-2').first().innerText()).toBe('I look at the parser first.')
    expect(await log.innerText()).toMatch(/Launch 3 started \d/)
    expect(await log.locator('.line.tool').count()).toBe(3)
    await log.getByRole('button', { name: '3 tool calls, show them' }).first().click()
    await expect.poll(() => log.locator('.line.tool').count()).toBe(5)
    await page.goto(`${scene.url()}/#/runs/${run.id}/log/3:1`)
    await log.locator('.line.found').waitFor(slow)
    expect(await log.locator('.line.found').innerText()).toContain('I look at the parser first.')
  })

  test('is searched, and saved as a file without escapes', async () => {
    const field = page.getByLabel('Search the log')
    await field.fill('PARSER READS')
    await page.getByText('1 of 3').waitFor(slow)
    await field.press('Enter')
    await page.getByText('2 of 3').waitFor()
    await field.fill('no such text')
    await page.getByText('no line', { exact: true }).waitFor()
    await field.fill('')
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    const text = readFileSync((await (await saved).path()) ?? '', 'utf8')
    expect(text).toContain('== Launch 2 ==\nI look at the parser first.\n')
    expect(text).not.toContain('\u001b')
  })
})

describe('the page of a goal', () => {
  test('draws what each task waits for, and reports what became of each', async () => {
    await page.goto(`${scene.url()}/#/goals/${goal.id}`)
    const plan = page.getByRole('group', { name: 'What each task waits for' })
    await plan.getByRole('link', { name: /^#3 Tell everybody\s.*after #1, #2/ }).waitFor(slow)
    expect(await plan.locator('svg path').count()).toBe(3)
    const row = region('Report').getByRole('row', { name: /Parse the zone/ })
    expect(await row.innerText()).toMatch(/done\s+verified/)
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download report' }).click()
    const html = readFileSync((await (await saved).path()) ?? '', 'utf8')
    expect(html).toContain('Read &lt;zones&gt;')
    expect(html).not.toMatch(/<script|<zones>/)
  })
})

interface Violation {
  id: string
  impact: string
  nodes: { html: string; failureSummary: string }[]
}

const violations = async (): Promise<string[]> => {
  await page.evaluate(`${axe.source}; undefined`)
  const found = (await page.evaluate('axe.run(document).then(({ violations }) => violations)')) as Violation[]
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`))
}

test.each([
  ['task', async () => `#/tasks/${(await task(1)).id}`],
  ['run', async () => `#/runs/${(await runOf(1)).id}`],
  ['goal', async () => `#/goals/${goal.id}`],
] as const)('the page of a %s: nothing serious for axe, light and dark, wide and narrow', async (name, address) => {
  await page.goto(`${scene.url()}/${await address()}`)
  await page.getByRole('heading', { level: 1 }).waitFor(slow)
  if (name !== 'goal') await page.locator('[style*="--code-keyword"]').first().waitFor(slow)
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 1280],
    ['dark', 390],
    ['light', 390],
  ] as const) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    await page.screenshot({ path: join(shots, `detail-${name}-${colorScheme}-${width}.png`), fullPage: true })
    expect(await violations()).toEqual([])
  }
})

test('no script failed and the page kept to its policy', () => {
  expect(scene.complaints).toEqual([])
})
