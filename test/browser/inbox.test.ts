/** The inbox in Chromium, against a real engine with a dozen questions: by keyboard alone, wide and narrow, light and dark. */
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Answered, EventView, InboxView } from '../../src/api/contract.ts'
import { until } from '../hostile/scene.ts'
import { openBrowserScene, type BrowserScene } from './scene.ts'

/** To look at by hand: set UNSTUCK_SHOTS to a folder. */
const shots = process.env.UNSTUCK_SHOTS ?? mkdtempSync(join(tmpdir(), 'unstuck-shots-'))
const slow = { timeout: 240_000 }

let scene: BrowserScene
let page: Page

const inbox = () => scene.api<InboxView>('/inbox')
const count = async (): Promise<number> => (await inbox()).count
const row = () => page.locator('.inbox-row[aria-current=true]')
const press = (key: string): Promise<void> => page.keyboard.press(key)
const focused = (): Promise<string> => page.evaluate<string>('document.activeElement.innerText ?? ""')
const answered = async (): Promise<number> =>
  (await scene.api<EventView[]>('/events?limit=1000')).filter(({ type }) => type === 'escalation.answered').length
const notices = () => page.getByRole('status', { name: 'Answers' }).getByRole('listitem')

const many = (number: number, title: string, command: string) =>
  Array.from({ length: number }, (_, index) => ({
    title: `${title} ${index + 1}`,
    commands: [command],
    harness: 'talker',
  }))

beforeAll(async () => {
  mkdirSync(shots, { recursive: true })
  scene = await openBrowserScene({ recovery: { auto_approve: ['npm ci'] } })
  scene.go()
  await scene.begin('Open the gate', many(8, 'Try the gate in place', 'node asserts.mjs'))
  await scene.begin('Leave it as it is', many(3, 'Look at it', 'node untouched.mjs'))
  await scene.begin('Tidy the documentation', [{ title: 'Rewrite the guide', harness: 'fenced' }])
  await scene.begin('Start the tests', [
    { title: 'Make the tests start', commands: ['node starts.mjs'], harness: 'proposer' },
    { title: 'Make them start there too', commands: ['node starts.mjs'], harness: 'proposer' },
  ])
  await until(async () => ((await count()) === 14 ? true : undefined), 'fourteen questions')
  page = await scene.page(await scene.context({ viewport: { width: 1280, height: 900 } }))
}, 600_000)
afterAll(async () => scene?.clear())

test('every page has one link to the inbox, and the inbox has every question in groups', async () => {
  await page.getByRole('link', { name: 'Inbox: 14 questions wait for you' }).click()
  await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor()
  const { groups } = await inbox()
  expect(groups.map(({ questions }) => questions.length).sort((a, b) => a - b)).toEqual([1, 2, 3, 8])
  expect(await page.locator('.inbox-item').count()).toBe(14)
  expect(await page.locator('.inbox-body').count()).toBe(1)
  const gate = groups.find(({ questions }) => questions.length === 8)
  expect(gate?.cause).toMatch(/the gate of the parser/)
})

test('by keyboard: move, go to a choice, leave a text, open the evidence and come back', async () => {
  expect(await row().innerText()).toMatch(/^1\b/)
  await press('j')
  await press('ArrowDown')
  expect(await focused()).toMatch(/^3\b/)
  await press('k')
  expect(await focused()).toMatch(/^2\b/)
  expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
  await press('1')
  // In a text, keys are letters.
  await page.keyboard.type('jk?x4')
  expect(await page.evaluate('document.activeElement.value')).toBe('jk?x4')
  expect(await page.getByRole('dialog').count()).toBe(0)
  await press('Escape')
  expect(await focused()).toMatch(/^2\b/)
  await press('?')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  await press('j')
  expect(await row().innerText()).toMatch(/^2\b/)
  await press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  for (const [key, part] of [
    ['d', /^#\/runs\/r-\w+\/diff$/],
    ['l', /^#\/runs\/r-\w+\/log(\/.*)?$/],
  ] as const) {
    await press(key)
    await expect.poll(() => new URL(page.url()).hash).toMatch(part)
    await page.goBack()
    // The way back leads to the same question, and its keys work at once.
    await row().waitFor(slow)
    await expect.poll(focused).toMatch(/^2\b/)
  }
})

test('the log opens at the line that shows the cause', async () => {
  await page.locator('.inbox-row', { hasText: 'Rewrite the guide' }).click()
  await press('l')
  const found = page.locator('.line.found')
  await found.getByText(/requested permissions to write to/).waitFor(slow)
  expect(await page.getByLabel('Follow').isChecked()).toBe(false)
  await page.screenshot({ path: join(shots, 'log-line.png') })
  await page.goBack()
  await row().waitFor(slow)
})

test('of fifty answers at the same time exactly one counts', async () => {
  const { groups } = await inbox()
  const question = groups.flatMap(({ questions }) => questions).find(({ goal }) => goal.title === 'Leave it as it is')
  const before = await answered()
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      scene
        .api<Answered>(
          `/escalations/${question?.id}/answer`,
          index % 2 === 0 ? { choice: 'cancel' } : { choice: 'hint', input: 'x' },
        )
        .then(({ answer }) => `won: ${answer}`)
        .catch((error: unknown) => (/already decided/.test(String(error)) ? 'already decided' : String(error))),
    ),
  )
  expect(outcomes.filter((text) => text.startsWith('won'))).toHaveLength(1)
  expect(outcomes.filter((text) => text === 'already decided')).toHaveLength(49)
  expect(await answered()).toBe(before + 1)
})

test('who comes second is told that it is decided, and by what', async () => {
  await page.goto(`${scene.url()}/#/`)
  await page.goto(`${scene.url()}/#/inbox`)
  await row().waitFor(slow)
  await press('j')
  const id = (await row().getAttribute('data-question')) ?? ''
  // The page does not hear of the first answer: its requests for news are held back.
  await page.route(/\/(inbox|status|events|health)\b/, (route) => route.abort())
  await scene.api(`/escalations/${id}/answer`, { choice: 'cancel' })
  await press('1')
  await page.keyboard.type('too late')
  await press('Enter')
  await notices()
    .filter({ hasText: /is already decided: cancel/ })
    .waitFor(slow)
  expect(await page.locator(`[data-question=${id}]`).count()).toBe(1)
  await page.unroute(/\/(inbox|status|events|health)\b/)
  await page.locator(`[data-question=${id}]`).waitFor({ state: 'detached', ...slow })
})

test('a proposed command shows its parts, its risks and what each choice does', async () => {
  await page.locator('.inbox-row', { hasText: 'Make the tests start' }).click()
  const body = page.locator('.inbox-body')
  await body.getByText('rm -rf node_modules && npm install').first().waitFor(slow)
  expect(await body.locator('.parts').first().innerText()).toMatch(/rm -rf node_modules\s+npm install/)
  const risks = await body.getByRole('list', { name: 'Risks' }).allInnerTexts()
  expect(risks[0]).toMatch(/deletes\s+deletes node_modules[\s\S]*network[\s\S]*lockfile[\s\S]*package scripts/)
  expect(risks[1]).toMatch(/needs root/)
  expect(await body.locator('.choice button').allInnerTexts()).toEqual(
    [
      'Run it',
      'Run it, and from now on without a question',
      'Run another command',
      'Do not run it',
      'I have solved it by hand',
      'Retry with a hint',
      'Cancel the task',
    ].map((label, index) => `${index + 1} ${label}`),
  )
  await look('inbox-proposal')
  // Another command starts from the proposed one.
  await press('3')
  expect(await page.evaluate('document.activeElement.value')).toBe('rm -rf node_modules && npm install')
  await press('Escape')
})

test('"always" shows the change of the configuration, writes it when told so, and only then runs the command', async () => {
  const path = join(scene.root, '.unstuck', 'config.json')
  const before = readFileSync(path, 'utf8')
  const dialog = page.getByRole('dialog', { name: 'Write this into your configuration?' })
  await press('2')
  await press('Enter')
  await dialog.waitFor(slow)
  expect(await dialog.locator('.added').last().innerText()).toContain('"rm -rf node_modules && npm install"')
  await look('inbox-always')
  // A second Enter changes nothing.
  await press('Enter')
  await dialog.waitFor({ state: 'detached' })
  expect(readFileSync(path, 'utf8')).toBe(before)
  const id = (await row().getAttribute('data-question')) ?? ''
  await press('2')
  await press('Enter')
  await dialog.waitFor(slow)
  await press('Shift+Tab')
  await press('Enter')
  await page.locator(`[data-question=${id}]`).waitFor({ state: 'detached', ...slow })
  expect(readFileSync(path, 'utf8')).toBe(
    before.replace('"npm ci"', '"npm ci",\n      "rm -rf node_modules && npm install"'),
  )
  const events = await scene.api<EventView[]>('/events?limit=1000')
  expect(events.find(({ type }) => type === 'recovery_approved')?.payload).toMatchObject({ source: 'human' })
})

test('several of a group get the same answer in one request, and each refusal is told with its task', async () => {
  const { groups } = await inbox()
  const gate = groups.find(({ questions }) => questions.length > 3)
  const [first, second, third] = gate?.questions ?? []
  await page.locator(`[data-question=${first?.id}]`).click()
  await press('x')
  await press('j')
  await press('x')
  await press('j')
  await press('x')
  await page.getByText('3 selected.').waitFor()
  await page.screenshot({ path: join(shots, 'inbox-selected.png'), fullPage: true })
  await page.route(/\/(inbox|status|events|health)\b/, (route) => route.abort())
  await scene.api(`/escalations/${second?.id}/answer`, { choice: 'cancel' })
  const digit = await page.locator('.batch .choice').filter({ hasText: 'Cancel' }).getAttribute('data-digit')
  await press(digit ?? '')
  await press('Enter')
  await page.getByRole('dialog', { name: 'Cancel 3 at once?' }).waitFor()
  await press('Shift+Tab')
  await press('Enter')
  await notices().filter({ hasText: '2 of 3 answered' }).waitFor(slow)
  await notices()
    .filter({ hasText: new RegExp(`${second?.task?.title}: question .* is already decided: cancel`) })
    .waitFor()
  await page.unroute(/\/(inbox|status|events|health)\b/)
  for (const each of [first, second, third])
    await page.locator(`[data-question=${each?.id}]`).waitFor({ state: 'detached', ...slow })
})

interface Violation {
  id: string
  nodes: { html: string; failureSummary: string }[]
}

const violations = async (): Promise<string[]> => {
  await page.evaluate(`${axe.source}; undefined`)
  const found = (await page.evaluate('axe.run(document).then(({ violations }) => violations)')) as Violation[]
  return found.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`))
}

const look = async (name: string): Promise<void> => {
  for (const [theme, width] of [
    ['light', 1280],
    ['dark', 1280],
    ['dark', 390],
    ['light', 390],
  ] as const) {
    await page.setViewportSize({ width, height: width === 390 ? 844 : 900 })
    await page.emulateMedia({ colorScheme: theme })
    expect([name, width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([name, width, width])
    await page.screenshot({ path: join(shots, `${name}-${theme}-${width}.png`), fullPage: true })
    expect([name, theme, width, await violations()]).toEqual([name, theme, width, []])
  }
  await page.setViewportSize({ width: 1280, height: 900 })
}

test('axe finds nothing, wide and narrow, in light and in dark', async () => {
  await look('inbox')
  await press('a')
  await page.getByText(/^\d+ selected\.$/).waitFor()
  await look('inbox-batch')
  await press('Escape')
  await page.getByText(/^\d+ selected\.$/).waitFor({ state: 'detached' })
  await press('?')
  await look('inbox-keys')
  await press('Escape')
})

/** How long a person takes to read a question, and for each key. The time of the machine is printed and not judged. */
const readMs = 1500
const keyMs = 250

test('ten questions take so few keys that a person answers them in under a minute', async () => {
  await until(async () => ((await count()) >= 7 ? true : undefined), 'questions')
  const before = await answered()
  const begun = performance.now()
  let keys = 0
  const key = async (name: string): Promise<void> => {
    keys += 1
    await press(name)
  }
  for (let time = 0; time < 10; time += 1) {
    await row().waitFor(slow)
    const id = await row().getAttribute('data-question')
    await key('1')
    for (const letter of 'try again') await key(letter === ' ' ? 'Space' : letter)
    await key('Enter')
    await page.locator(`[data-question=${id}]`).waitFor({ state: 'detached', ...slow })
  }
  const seconds = (10 * readMs + keys * keyMs) / 1000
  process.stdout.write(
    `ten answers: ${keys} keys, ${seconds} s of a person, ${Math.round(performance.now() - begun)} ms of the machine\n`,
  )
  expect(await answered()).toBeGreaterThanOrEqual(before + 10)
  expect(seconds).toBeLessThan(60)
}, 180_000)

test('no script failed and the page kept to its policy', () => {
  expect(scene.complaints.filter((text) => !/ERR_FAILED|status of 409/.test(text))).toEqual([])
})
