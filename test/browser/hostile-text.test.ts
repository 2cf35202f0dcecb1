/** Markup in every text that a goal, an agent or a file name can bring: on no page does any of it run, and the policy would stop it. */
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GoalView, Run } from '../../src/api/contract.ts'
import { until } from '../hostile/scene.ts'
import { openBrowserScene, type BrowserScene } from './scene.ts'

const attack = '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>'
const slow = { timeout: 240_000 }

let scene: BrowserScene
let context: BrowserContext
let page: Page
let goal: GoalView
let run: Run

beforeAll(async () => {
  scene = await openBrowserScene()
  context = await scene.context()
  await context.addInitScript(
    "window.blocked = []; document.addEventListener('securitypolicyviolation', (event) => window.blocked.push(event.effectiveDirective))",
  )
  page = await scene.page(context)
  goal = await scene.begin(`Goal ${attack}`, [
    {
      title: `Task ${attack}`,
      instructions: `javascript:window.harmed=1 ${attack}`,
      allowedPaths: ['src/**', `${attack}/**`],
      deniedPaths: [`docs/${attack}`],
      commands: ['node check.mjs', `node check.mjs '${attack}'`],
      harness: 'talker',
    },
    { title: `Question ${attack}`, commands: ['node untouched.mjs'], harness: 'talker' },
  ])
  scene.say(3)
  run = await until(async () => (await scene.api<Run[]>(`/runs?goal=${goal.id}`))[0], 'a run')
  scene.go()
  await until(async () => ((await scene.status()).escalations.length > 0 ? true : undefined), 'a question')
})
afterAll(async () => scene?.clear())

const untouched = async (): Promise<void> => {
  const found = await page.evaluate(
    "[window.harmed ?? 'no', document.querySelectorAll('#root img, #root script, #root iframe, #root a[href^=javascript]').length, window.blocked.length]",
  )
  expect(found).toEqual(['no', 0, 0])
}

test.each<[string, () => string, RegExp]>([
  ['the first page', () => '#/', /Question <img src=x/],
  ['the table', () => '#/work', /Task <img src=x/],
  ['the board', () => '#/work?view=board', /Task <img src=x/],
  [
    'a filter',
    () => `#/work?text=${encodeURIComponent(attack)}&cause=${encodeURIComponent(attack)}`,
    /No task matches/,
  ],
  ['the goal', () => `#/goals/${goal.id}`, /Goal <img src=x/],
  ['the task', () => `#/tasks/${run.taskId}`, /Task <img src=x/],
  ['the run', () => `#/runs/${run.id}`, /<script>window\.harmed/],
  ['an unknown address', () => `#/${encodeURIComponent(attack)}`, /Not found/],
  ['an unknown goal', () => `#/goals/${encodeURIComponent(attack)}`, /Not found/],
])('%s shows it as text', async (_name, address, text) => {
  await page.goto(`${scene.url()}/${address()}`)
  await page.getByText(text).first().waitFor(slow)
  await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
  await untouched()
})

test('a plain page shows the address as text', async () => {
  const answer = await page.request.get(`${scene.url()}/nosuch${attack}`, { headers: { accept: 'text/html' } })
  expect(await answer.text()).not.toContain('<img')
  expect(answer.headers()['content-security-policy']).toMatch(/^default-src 'none'/)
})

test('what would run by a mistake of ours is stopped by the policy', async () => {
  await page.goto(`${scene.url()}/#/`)
  await page.getByRole('heading', { name: 'Now', exact: true }).waitFor(slow)
  const tried = await page.evaluate(`(() => {
    const errors = []
    const tries = [
      () => { document.body.innerHTML += '<img src=x onerror="window.harmed=1">' },
      () => { const script = document.createElement('script'); script.text = 'window.harmed=1'; document.body.append(script) },
      () => { document.body.setAttribute('onclick', 'window.harmed=1') ; document.body.click() },
    ]
    for (const attempt of tries) try { attempt() } catch (error) { errors.push(error.name) }
    return errors.length
  })()`)
  expect(tried).toBeGreaterThanOrEqual(2)
  expect(await page.evaluate("window.harmed ?? 'no'")).toBe('no')
  expect(await page.evaluate('window.blocked.length')).toBeGreaterThanOrEqual(2)
  const elsewhere = "fetch('http://localhost:1/').then(() => 'sent', () => 'stopped')"
  expect(await page.evaluate(elsewhere)).toBe('stopped')
  expect(await page.evaluate('window.blocked')).toContain('connect-src')
})
