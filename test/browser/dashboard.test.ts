/** The dashboard as a person meets it, in Chromium, against a real engine with agents that fail, ask, talk and wait. */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import axe from 'axe-core'
import type { BrowserContext, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GoalView, Run, StatusView } from '../../src/api/contract.ts'
import { until } from '../hostile/scene.ts'
import { openBrowserScene, type BrowserScene } from './scene.ts'

/** To look at by hand: set UNSTUCK_SHOTS to a folder. */
const shots = process.env.UNSTUCK_SHOTS ?? mkdtempSync(join(tmpdir(), 'unstuck-shots-'))
const slow = { timeout: 240_000 }

let scene: BrowserScene
let context: BrowserContext
let page: Page
let parser: GoalView
let guide: GoalView
let trusted: GoalView
const complaints = (): string[] =>
  scene.complaints.filter((text) => !/ERR_CONNECTION_REFUSED|ERR_FAILED|status of (40[149]|503)/.test(text))

const runOf = async (goal: GoalView, title: string): Promise<Run> =>
  until(async () => {
    const found = (await scene.status()).goals.find(({ id }) => id === goal.id)
    const task = found?.tasks.find((candidate) => candidate.title === title)
    return (await scene.api<Run[]>(`/runs?goal=${goal.id}`)).findLast(({ taskId }) => taskId === task?.id)
  }, `a run of "${title}"`)

const column = (state: string) => page.getByRole('region', { name: new RegExp(`^${state} \\d+$`) })
const waiting = () => page.getByRole('link', { name: /^Inbox: \d+ questions? waits? for you$/ })
const atQuestion = () => page.locator('.inbox-row[aria-current=true]')
const card = (title: string) => page.getByRole('listitem').filter({ has: page.getByRole('link', { name: title }) })
const showBoard = (): Promise<unknown> => page.goto(`${scene.url()}/#/work?view=board`)
/** Four changes seen one after the other in less time than two slow polls take: only the stream of events is so fast. */
const expectLive = async (): Promise<void> => {
  await page.goto(`${scene.url()}/#/goals/${parser.id}`)
  const begun = performance.now()
  const pause = page.getByRole('button', { name: /^Pause: goal Speed up/ })
  for (let time = 0; time < 2; time += 1) {
    await scene.api(`/goals/${parser.id}/pause`, {})
    await pause.waitFor({ state: 'detached', ...slow })
    await scene.api('/resume', { goal: parser.id })
    await pause.waitFor(slow)
  }
  expect(performance.now() - begun).toBeLessThan(40_000)
}

/** However many questions wait, they take the room of one link from the page. */
const expectOneLink = async (): Promise<void> => {
  await page.route(/\/status/, async (route) => {
    const answer = await route.fetch()
    const view = (await answer.json()) as StatusView
    const escalations = view.escalations.flatMap((one) =>
      Array.from({ length: 10 }, (_, index) => ({ ...one, id: `${one.id}${index}` })),
    )
    // A reload meanwhile ends the request, and with it the route.
    await route.fulfill({ response: answer, json: { ...view, escalations } }).catch(() => undefined)
  })
  await page.reload()
  await page.getByRole('link', { name: 'Inbox: 10 questions wait for you' }).waitFor(slow)
  const below =
    'document.querySelector("main").getBoundingClientRect().top - document.querySelector("header").getBoundingClientRect().bottom'
  expect(await page.evaluate(below)).toBeLessThan(5)
  await page.screenshot({ path: join(shots, 'ten-questions.png') })
  await page.unroute(/\/status/)
  await page.reload()
  await waiting().waitFor(slow)
}

const home = async (): Promise<void> => {
  await page.getByRole('link', { name: 'Unstuck', exact: true }).click()
  await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
}

beforeAll(async () => {
  mkdirSync(shots, { recursive: true })
  scene = await openBrowserScene()
  // The clock of this browser is an hour ahead of everybody's.
  context = await scene.context()
  await context.addInitScript('const real = Date.now; Date.now = () => real() + 3600000')
})
afterAll(async () => scene?.clear())

describe('before anything is done', () => {
  test('without a login, and with a wrong one, it is said how to get one', async () => {
    const stranger = await (await scene.context()).newPage()
    for (const address of ['/', '/#login=wrong']) {
      await stranger.goto('about:blank')
      await stranger.goto(scene.url() + address)
      await stranger.getByRole('alert').filter({ hasText: 'unstuck login-url' }).waitFor(slow)
    }
    await stranger.context().close()
  })

  test('a one-time login leads to a page that says how to begin', async () => {
    page = await scene.page(context)
    await page.getByRole('heading', { name: 'No goal yet' }).waitFor()
    expect(await page.locator('main pre').innerText()).toMatch(/^unstuck run "/)
    await expect.poll(() => page.getByRole('status').first().innerText()).toBe('live')
    await page.screenshot({ path: join(shots, 'empty.png') })
  })
})

describe('the board', () => {
  test('shows a goal that begins without a reload, each task with its next step and owner', async () => {
    await page.evaluate('window.mark = "the same page"')
    await showBoard()
    parser = await scene.begin('Speed up the <parser>', [
      { title: 'Add a benchmark', harness: 'talker' },
      { title: 'Cache the tokens', harness: 'overloaded' },
      { title: 'Write the changelog', harness: 'talker', after: ['1'] },
    ])
    await column('running').getByText('Add a benchmark').waitFor(slow)
    const queued = card('Write the changelog')
    await queued.getByText('waiting for task 1').waitFor()
    expect(await queued.getByRole('link').count()).toBe(1)
    expect(await page.evaluate('window.mark')).toBe('the same page')
  })

  test('has "failed" and a running countdown side by side, by the server\'s clock', async () => {
    const failed = column('failed').getByRole('listitem')
    const countdown = failed.getByRole('timer')
    await countdown.waitFor(slow)
    expect(await failed.innerText()).toMatch(
      /failed[\s\S]*retry in[\s\S]*overloaded \(retry 1 of 6\)[\s\S]*run \d+[\s\S]*1 recovery/,
    )
    const secondsIn = (text: string): number => {
      const [, minutes = '0', seconds = '0'] = /^retry in (?:(\d+) min )?(\d+) s$/.exec(text) ?? []
      return Number(minutes) * 60 + Number(seconds)
    }
    const first = await countdown.innerText()
    const retry = (await scene.status()).goals.flatMap(({ tasks }) => tasks).find((task) => task.retry !== null)?.retry
    expect(Math.abs(secondsIn(first) - (retry?.inSeconds ?? 0))).toBeLessThan(10)
    await expect.poll(async () => secondsIn(await countdown.innerText())).toBeLessThan(secondsIn(first))
  })

  test('holds no connection while nobody sees it, and looks again when somebody does', async () => {
    // A pause would call back a run that has not begun its work yet.
    await until(
      async () => ((await runOf(parser, 'Add a benchmark')).phase === 'supervise' ? true : undefined),
      'the talking agent',
    )
    const [begun, ended]: [string[], string[]] = [[], []]
    const noteIn =
      (list: string[]) =>
      (request: Request): void =>
        void (request.url().includes('/events?') && list.push(request.url()))
    page.on('request', noteIn(begun))
    page.on('requestfailed', noteIn(ended))
    await page.reload()
    await expect.poll(() => page.getByRole('status').first().innerText()).toBe('live')
    const before = ended.length
    const show = (hidden: boolean): Promise<unknown> =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
      )
    await show(true)
    await expect.poll(() => ended.length).toBe(before + 1)
    await show(false)
    await expect.poll(() => begun.length).toBe(2)
    // It goes on behind what it knows, not at the beginning.
    expect(begun[1]).not.toMatch(/after=0$/)
    await expectLive()
  })

  test('can be filtered, and says so when nothing is left', async () => {
    await showBoard()
    const filter = page.getByRole('searchbox')
    await filter.fill('changelog')
    await card('Cache the tokens').waitFor({ state: 'detached' })
    expect(await card('Write the changelog').count()).toBe(1)
    await filter.fill('nothing like it')
    await page.getByText('No task matches').waitFor()
    await filter.fill('')
    await card('Cache the tokens').waitFor()
  })
})

describe('a person', () => {
  test('is told on every page that a file of the configuration is not valid, until it is', async () => {
    const path = join(scene.root, '.unstuck', 'config.json')
    const valid = readFileSync(path, 'utf8')
    writeFileSync(path, '{"maxParallel":0}')
    const notice = page.getByRole('status').getByText(/config\.json: maxParallel/)
    await notice.waitFor(slow)
    await page.goto(`${scene.url()}/#/inbox`)
    await notice.waitFor(slow)
    writeFileSync(path, valid)
    await until(async () => ((await scene.status()).notices.length === 0 ? true : undefined), 'the valid file')
    // Nothing is recorded when a file is valid again, so an open page learns of it by its slow poll.
    await page.reload()
    await home()
    expect(await notice.count()).toBe(0)
  })

  test('pauses and resumes a goal', async () => {
    await page.getByRole('link', { name: 'Speed up the <parser>' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Speed up the <parser>' }).waitFor()
    await page.getByRole('button', { name: /^Pause/ }).click()
    await page.getByText('paused by a person').waitFor()
    await card('Write the changelog').getByText('the goal is paused').waitFor()
    await page.getByRole('button', { name: /^Resume/ }).click()
    await page.getByRole('button', { name: /^Pause/ }).waitFor()
    expect((await scene.status()).goals[0]?.state).toBe('active')
  })

  test('is asked on every page, answers with a click, and the goal goes on', async () => {
    guide = await scene.begin('Tidy the documentation', [{ title: 'Rewrite the guide', harness: 'fenced' }])
    await waiting().waitFor(slow)
    expect(await page.title()).toMatch(/^\(1\) parser/)
    await home()
    await page
      .getByRole('region', { name: 'Needs you 1' })
      .getByRole('link', { name: /Rewrite the guide/ })
      .waitFor()
    await expectOneLink()
    await waiting().focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor()
    await page
      .locator('.inbox-body')
      .getByText(/Claude/)
      .first()
      .waitFor()
    await page.screenshot({ path: join(shots, 'inbox-with-question.png'), fullPage: true })
    for (const [key, part, text] of [
      ['d', 'diff', 'No file was changed.'],
      ['l', 'log', 'End of the log.'],
    ] as const) {
      await atQuestion().waitFor(slow)
      await page.keyboard.press(key)
      await page.getByText(text).waitFor(slow)
      expect(new URL(page.url()).hash).toMatch(new RegExp(`^#/runs/r-\\w+/${part}(/|$)`))
      await expect.poll(() => page.evaluate('document.activeElement.className')).toBe('arrival')
      await page.goBack()
    }
    const { taskId } = await runOf(guide, 'Rewrite the guide')
    await page.goto(`${scene.url()}/#/tasks/${taskId}`)
    const asked = page.locator('main').getByRole('article').filter({ hasText: 'asked' })
    await asked.getByText('/nobody/may/write/here.txt').first().waitFor()
    const offered = (await scene.status()).escalations[0]?.choices ?? []
    expect(await asked.getByRole('button').allInnerTexts()).toEqual(
      expect.arrayContaining(offered.map(({ label }) => label)),
    )
    // Each action once: what the question offers is not among the other buttons.
    const buttons = await page
      .locator('main')
      .getByRole('button', { name: /retry|cancel|take over/i })
      .allInnerTexts()
    expect(buttons).toHaveLength(new Set(buttons).size)
    expect(buttons.filter((text) => /^(Cancel|Retry|Take over)$/.test(text))).toEqual(
      offered.some(({ kind }) => kind === 'take_over') ? ['Take over'] : [],
    )
    const helps = offered.find(({ kind }) => kind === 'resume' || kind === 'retry' || kind === 'hint')
    const field = helps?.input?.label
    if (field !== undefined) await asked.getByLabel(field).fill('write it into src/work.txt')
    await asked.getByRole('button', { name: helps?.label ?? '', exact: true }).click()
    await asked.waitFor({ state: 'detached', ...slow })
    await showBoard()
    await column('done').getByText('Rewrite the guide').waitFor(slow)
    await home()
    await page.getByRole('button', { name: 'Land: goal Tidy the documentation' }).waitFor(slow)
    expect(await page.title()).toBe('parser: Unstuck')
  })

  test('is asked again before a cancel, and Escape means no', async () => {
    await page.goto(`${scene.url()}/#/goals/${guide.id}`)
    const goal = page.getByRole('article', { name: /Tidy the documentation/ })
    await goal.getByRole('button', { name: /^Cancel/ }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Cancel this goal?' }).waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Keep working')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await scene.api<GoalView>(`/goals/${guide.id}`)).state).toBe('ready')
    await goal.getByRole('button', { name: /^Cancel/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel goal' }).click()
    await goal.getByText('cancelled', { exact: true }).waitFor(slow)
    expect((await scene.api<GoalView>(`/goals/${guide.id}`)).state).toBe('cancelled')
    await page.getByRole('link', { name: 'Work', exact: true }).click()
    const task = page.getByRole('row').filter({ hasText: 'Rewrite the guide' })
    await page.getByRole('row').filter({ hasText: 'Cache the tokens' }).waitFor()
    expect(await task.count()).toBe(0)
    await page.getByRole('combobox', { name: 'Show' }).selectOption('all')
    await task.waitFor()
    expect(new URL(page.url()).hash).toBe('#/work?goals=all')
  })

  test('is told in words when somebody else was faster', async () => {
    await page.goto(`${scene.url()}/#/goals/${parser.id}`)
    const pause = page.getByRole('button', { name: /^Pause/ })
    await pause.waitFor()
    // The page does not hear of it: its requests for news are held back.
    await page.route(/\/(status|events|health)/, (route) => route.abort())
    await scene.api(`/goals/${parser.id}/pause`, {})
    await pause.click()
    await page
      .getByRole('alert')
      .filter({ hasText: /paused/ })
      .first()
      .waitFor()
    await page.unroute(/\/(status|events|health)/)
    await scene.api('/resume', { goal: parser.id })
    await pause.waitFor(slow)
  })

  test('gets by with the keyboard', async () => {
    await home()
    await page.reload()
    await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.id')).toBe('main')
    await page.keyboard.press('Tab')
    const outline = 'getComputedStyle(document.activeElement).outlineStyle'
    expect(await page.evaluate(outline)).toBe('solid')
  })
})

describe('the page of a run', () => {
  test('has a log that grows, and shows hostile output as text', async () => {
    const run = await runOf(parser, 'Add a benchmark')
    await page.goto(`${scene.url()}/#/runs/${run.id}`)
    const log = page.getByRole('log')
    await log.getByText('the same again').waitFor(slow)
    const text = await log.innerText()
    expect(text).toContain('<script>window.harmed = 1; document.title = "harmed"</script><img src=x onerror=')
    expect(text).toContain('red ⟨ESC⟩]0;harmed⟨BEL⟩⟨ESC⟩]8;;http://harmed.invalid⟨BEL⟩link')
    expect(await log.locator('.hue-1').innerText()).toBe('red')
    expect(text).toContain('file ⟨202E⟩txt.exe')
    expect(text).toMatch(/the same again\s*×5/)
    // oxlint-disable-next-line eslint/no-control-regex -- these are the characters in question
    expect(await page.content()).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]|\u202e/)
    expect(await log.locator('script, img, a:not(.line-number)').count()).toBe(0)
    scene.say(3)
    await log.getByText('line 3 of what I do').waitFor()
    expect(await log.getByText('line 4 of what I do').count()).toBe(0)
    scene.say(4)
    await log.getByText('line 4 of what I do').waitFor()
    expect(await page.evaluate('[window.harmed, document.title]')).toEqual([undefined, 'parser: Unstuck'])
  })

  test('follows the end until the reader goes elsewhere, then counts what is new, and has only what is seen in the page', async () => {
    scene.say(4000)
    const log = page.getByRole('log')
    await log.getByText('line 4000 of what I do').waitFor(slow)
    const distance =
      '(() => { const box = document.querySelector("[role=log]"); return box.scrollHeight - box.scrollTop - box.clientHeight })()'
    await expect.poll(() => page.evaluate(distance)).toBeLessThan(40)
    expect(await log.locator('.line').count()).toBeLessThan(100)
    await log.hover()
    await page.mouse.wheel(0, -600)
    await expect.poll(() => page.getByLabel('Follow').isChecked()).toBe(false)
    const away = await page.evaluate(distance)
    scene.say(4001)
    const fresh = page.getByRole('button', { name: /^1 new line\b/ })
    await fresh.waitFor(slow)
    expect(await page.evaluate(distance)).toBeGreaterThanOrEqual(Number(away))
    await fresh.click()
    await log.getByText('line 4001 of what I do').waitFor()
    expect(await page.getByLabel('Follow').isChecked()).toBe(true)
    await expect.poll(() => page.evaluate(distance)).toBeLessThan(40)
  })

  test('shows launches with their corrections, the checks and how it was got unstuck', async () => {
    trusted = await scene.begin('Trust the folder', [{ title: 'Start in it', harness: 'untrusting' }])
    const run = await runOf(trusted, 'Start in it')
    await page.goto(`${scene.url()}/#/runs/${run.id}`)
    await page.getByText('verified', { exact: true }).waitFor(slow)
    const text = await page.locator('main').innerText()
    expect(text).toMatch(/Launch 1[\s\S]*Launch 2[\s\S]*git check skipped/)
    expect(text).toMatch(/passed\s+node check\.mjs/)
    const entry = page.locator('.timeline li')
    await entry.getByText('it helped').waitFor(slow)
    expect(await entry.innerText()).toMatch(
      /Restarted the agent without its git check[\s\S]*Because:[\s\S]*Not inside a trusted directory[\s\S]*launch 2/,
    )
    expect(await page.locator('main').innerText()).not.toMatch(/\b[A-Z]{3,}_[A-Z_]+\b/)
    await page.getByText('Full history').click()
    await page.locator('.story li').first().waitFor()
    await page.screenshot({ path: join(shots, 'run-recovered.png'), fullPage: true })
  })
})

describe('whatever happens to the engine', () => {
  test('an open page says that it is gone, and goes on when it is back', async () => {
    const run = await runOf(parser, 'Add a benchmark')
    await page.goto(`${scene.url()}/#/runs/${run.id}`)
    await page.getByRole('log').getByText('line 4001').waitFor(slow)
    await page.evaluate('window.mark = "still the same page"')
    const before = scene.url()
    await scene.stop()
    const alert = page.getByRole('alert').filter({ hasText: 'The engine is not responding' })
    await alert.waitFor(slow)
    await alert.getByText('unstuck up', { exact: true }).waitFor()
    await page.screenshot({ path: join(shots, 'gone.png'), fullPage: true })
    await scene.start()
    expect(scene.url()).toBe(before)
    await alert.waitFor({ state: 'detached', ...slow })
    await expect.poll(() => page.locator('header [role=status]').innerText(), slow).toBe('live')
    await expectLive()
    scene.go()
    await showBoard()
    await column('done').getByText('Add a benchmark').waitFor(slow)
    expect(await page.evaluate('window.mark')).toBe('still the same page')
  })

  test('a session that ended is said, and a new login in another tab is enough', async () => {
    await page.evaluate('localStorage.clear()')
    await page.reload()
    await page.getByRole('alert').filter({ hasText: 'unstuck login-url' }).waitFor(slow)
    await page.screenshot({ path: join(shots, 'logged-out.png') })
    const other = await scene.page(context)
    await other.close()
    await page.getByRole('heading', { name: 'Work', exact: true }).waitFor(slow)
  })

  test('an address that leads nowhere leads back', async () => {
    for (const address of ['#/nosuch', '#/runs/r-nosuch', '#/goals/g-nosuch', '#/tasks/t-nosuch']) {
      await page.goto(`${scene.url()}/${address}`)
      await page.getByRole('heading', { name: 'Not found' }).waitFor()
    }
    await page.getByRole('link', { name: 'Back to the first page' }).click()
    await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
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

describe('on every page', () => {
  const addresses: Record<string, () => Promise<string>> = {
    now: async () => '#/',
    work: async () => '#/work?goals=all',
    'work by cause': async () => '#/work?goals=all&group=cause',
    board: async () => '#/work?view=board&goals=all',
    goal: async () => `#/goals/${parser.id}`,
    task: async () => `#/tasks/${(await runOf(parser, 'Cache the tokens')).taskId}`,
    'run that failed': async () => `#/runs/${(await runOf(parser, 'Cache the tokens')).id}`,
    'run that recovered': async () => `#/runs/${(await runOf(trusted, 'Start in it')).id}`,
    'task with a question': async () => `#/tasks/${(await scene.status()).escalations[0]?.taskId}`,
    inbox: async () => '#/inbox',
    unknown: async () => '#/nosuch',
  }

  beforeAll(async () => {
    await scene.begin('Keep something to ask', [
      { title: `A title without an end ${'x'.repeat(200)}`, commands: ['node untouched.mjs'], harness: 'talker' },
    ])
    await waiting().waitFor(slow)
  })

  test.each(Object.keys(addresses))(
    '%s: nothing serious for axe, in light and in dark, wide and narrow',
    async (name) => {
      await page.goto(`${scene.url()}/${await addresses[name]?.()}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      if (name.startsWith('run')) await page.getByText('End of the log.').waitFor(slow)
      for (const [theme, width] of [
        ['light', 1440],
        ['dark', 1440],
        ['dark', 390],
        ['light', 390],
      ] as const) {
        await page.setViewportSize({ width, height: width === 390 ? 844 : 900 })
        await page.emulateMedia({ colorScheme: theme })
        const size = (await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as number[]
        expect([name, width, size]).toEqual([name, width, [width, width]])
        await page.screenshot({
          path: join(shots, `${name.replaceAll(' ', '-')}-${theme}-${width}.png`),
          fullPage: true,
        })
        expect([name, theme, width, await violations()]).toEqual([name, theme, width, []])
      }
      await page.setViewportSize({ width: 1440, height: 900 })
    },
  )

  test('the theme that was chosen is kept, whatever the system has', async () => {
    await page.emulateMedia({ colorScheme: 'light' })
    await page.getByLabel('Theme').selectOption('dark')
    await page.reload()
    await page.getByRole('heading', { level: 1 }).waitFor()
    const scheme = 'getComputedStyle(document.documentElement).colorScheme'
    expect(await page.evaluate(scheme)).toBe('dark')
    await page.getByLabel('Theme').selectOption('system')
    expect(await page.evaluate(scheme)).toBe('light dark')
  })
})

test('no script failed and the page kept to its policy', () => {
  expect(complaints()).toEqual([])
})
