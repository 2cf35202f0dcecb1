/** The login of a page over restarts, and the program that takes the port meanwhile, records what the page sends and gives it back. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { standardTask, until } from '../hostile/scene.ts'
import { openBrowserScene, type BrowserScene } from './scene.ts'

interface Recorded {
  method: string
  url: string
  headers: Record<string, string>
  body: string
}

const slow = { timeout: 240_000 }
const program = fileURLToPath(new URL('../fixture/browser/impostor.mjs', import.meta.url))

let scene: BrowserScene
let context: BrowserContext
let page: Page
let impostor: ChildProcess | undefined

beforeAll(async () => {
  scene = await openBrowserScene()
  context = await scene.context()
  page = await scene.page(context)
  await page.getByRole('heading', { name: 'No goal yet' }).waitFor(slow)
})
afterAll(async () => {
  impostor?.kill('SIGKILL')
  await scene?.clear()
})

const isLive = async (): Promise<void> =>
  expect.poll(() => page.locator('header [role=status]').innerText(), slow).toBe('live')

/** Another process on this port; what it was sent is given when it has ended. */
const takePort = async (port: string) => {
  const started = spawn(process.execPath, [program, port], { stdio: ['ignore', 'pipe', 'inherit'] })
  impostor = started
  const recorded: Recorded[] = []
  let listening = false
  createInterface({ input: started.stdout }).on('line', (line) => {
    const value = JSON.parse(line) as Recorded | string
    if (typeof value === 'string') listening = true
    else recorded.push(value)
  })
  await until(async () => (listening ? true : undefined), 'the other program')
  const giveBack = async (): Promise<void> => {
    started.kill('SIGKILL')
    await once(started, 'exit')
  }
  return { recorded, giveBack }
}

const replay = (sent: { method: string; url: string; headers: Record<string, string>; body: string }) =>
  new Promise<number>((resolve, reject) => {
    const { hostname, port } = new URL(scene.url())
    const { 'content-length': _length, connection: _connection, ...headers } = sent.headers
    const asked = request({ agent: false, hostname, port, method: sent.method, path: sent.url, headers }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
    })
    asked.on('error', reject)
    asked.end(sent.body)
  })

const forgedGoal = (): string =>
  JSON.stringify({
    input: {
      title: 'Forged',
      requirement: 'x',
      tasks: [{ ...standardTask, commands: ['node check.mjs'] }],
      allowedDirs: [],
      warnings: [],
    },
    options: { autoMerge: false, repoMode: 'local', allowedDirs: [], harness: null, limits: {} },
  })

/** With all that a page sends to prove who it is, and with the headers that a browser would add. */
const forged = (headers: Record<string, string>): Recorded => ({
  method: 'POST',
  url: '/goals',
  headers: {
    ...headers,
    host: new URL(scene.url()).host,
    origin: scene.url(),
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/json',
  },
  body: forgedGoal(),
})

test('what a page sent to a program that had the port is worth nothing to the next engine', async () => {
  const address = scene.url()
  await page.evaluate('window.mark = "still the same page"')
  await scene.stop()
  const { recorded, giveBack } = await takePort(new URL(address).port)
  await until(async () => (recorded.length >= 6 ? true : undefined), 'what the page sends')
  await giveBack()
  await scene.start()
  expect(scene.url()).toBe(address)
  for (const sent of recorded) {
    if (sent.url.startsWith('/events') || sent.url === '/' || sent.url.startsWith('/assets/')) continue
    if (sent.url !== '/sessions/challenge') expect([sent.url, await replay(sent)]).toEqual([sent.url, 401])
    expect(await replay(forged(sent.headers))).toBe(401)
  }
  expect((await scene.status()).goals).toEqual([])
  // And the page itself goes on, without a new login.
  await isLive()
  await page.getByRole('heading', { name: 'No goal yet' }).waitFor(slow)
  expect(await page.evaluate('window.mark')).toBe('still the same page')
})

test('what a page keeps is in no request of it, and there is no cookie', async () => {
  const address = scene.url()
  const sent: string[] = []
  const answered: string[] = []
  // Of its own: in the browser of another page that was faster it would go on with the session of that one.
  const own = await scene.context()
  const watched = await scene.page(own)
  watched.on('request', (asked) => sent.push(`${asked.url()} ${JSON.stringify(asked.headers())} ${asked.postData()}`))
  watched.on('response', async (answer) => {
    if (answer.url().endsWith('/sessions/key')) answered.push(((await answer.json()) as { key: string }).key)
  })
  await watched.reload()
  await until(async () => (answered.length > 0 ? true : undefined), 'the key')
  await scene.stop()
  await scene.start()
  expect(scene.url()).toBe(address)
  // The page may still call itself live when it has not noticed yet that its engine went.
  await expect.poll(() => sent.some((text) => text.includes('/sessions/resume')), slow).toBe(true)
  await expect.poll(() => watched.locator('header [role=status]').innerText(), slow).toBe('live')
  expect(sent.filter((text) => text.includes(answered[0] ?? ''))).toEqual([])
  expect(sent.filter((text) => /"cookie"/i.test(text))).toEqual([])
  expect(await own.cookies()).toEqual([])
  expect(await watched.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')).not.toContain(
    answered[0],
  )
  await own.close()
})

test('another tab and a reload need no login; a page that was left over a restart says how to get one', async () => {
  const other = await context.newPage()
  await other.goto(scene.url())
  await other.getByRole('heading', { name: 'No goal yet' }).waitFor(slow)
  await other.reload()
  await other.getByRole('heading', { name: 'No goal yet' }).waitFor(slow)
  await other.close()
  const stranger = await (await scene.context()).newPage()
  await stranger.goto(scene.url())
  await stranger.getByRole('alert').filter({ hasText: 'unstuck login-url' }).waitFor(slow)
  await stranger.goto(await scene.login())
  await stranger.getByRole('heading', { name: 'No goal yet' }).waitFor(slow)
  expect(stranger.url()).not.toContain('login')
  await stranger.goto('about:blank')
  await scene.stop()
  await scene.start()
  await stranger.goto(scene.url())
  await stranger.getByRole('alert').filter({ hasText: 'unstuck login-url' }).waitFor(slow)
  await stranger.context().close()
})
