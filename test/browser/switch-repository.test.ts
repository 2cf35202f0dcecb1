/** The pages of one engine for several repositories: where something waits, and the way there with the login that the reader has. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sendTo } from '../../src/cli/engine/send-over-socket.ts'
import type { LoginUrl } from '../../src/api/contract.ts'
import { serveAll, type ServedAll } from '../../src/api/serve-all.ts'
import { hostNameOf } from '../../src/api/shared-router.ts'
import { stateDirOf } from '../../src/api/state-dir.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { until } from '../hostile/scene.ts'
import { runHere } from '../cli/in-process.ts'
import { prepareEngineHome } from '../support/engine-home.ts'
import { commitAll, put, user } from '../workspace/scene.ts'
import { launchChromium } from './scene.ts'

const slow = { timeout: 240_000 }
const checkout = fileURLToPath(new URL('../../', import.meta.url))
const top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-switch-')))
const environment = {
  PATH: process.env.PATH ?? '',
  HOME: join(top, 'home'),
  UNSTUCK_HOME: join(top, 'state'),
  XDG_CACHE_HOME: join(checkout, 'node_modules', '.cache'),
}

let served: ServedAll
let browser: Awaited<ReturnType<typeof launchChromium>>
let page: Page
const complaints: string[] = []

const make = (name: string): string => {
  const root = join(top, name)
  mkdirSync(root)
  const harness = { default: 'mine', mine: { command: ['sh', '-c', 'echo "API Error: 401 invalid api key"; exit 1'] } }
  put(root, { 'a.txt': 'a\n', '.gitignore': '.unstuck/\n' })
  user(root, 'init', '--quiet', '--initial-branch=main')
  commitAll(root, 'first')
  put(root, { '.unstuck/config.json': JSON.stringify({ harness }) })
  return root
}

const run = (root: string, title: string) =>
  runHere(['run', title, '--detach'], { cwd: root, environment: { ...environment } })

const loginTo = async (root: string): Promise<string> => {
  const { id } = await openRepository(root)
  const stateDir = stateDirOf(environment, id)
  const token = readFileSync(join(stateDir, 'token'), 'utf8').trim()
  const { url } = JSON.parse(readFileSync(join(stateDir, 'engine.json'), 'utf8')) as { url: string }
  const answer = await sendTo(served.socket)(`${url}/login-codes`, {
    ...{ method: 'POST', body: '{}' },
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  })
  return ((await answer.json()) as LoginUrl).url
}

beforeAll(async () => {
  mkdirSync(environment.HOME)
  prepareEngineHome(environment.UNSTUCK_HOME)
  served = await serveAll({ environment, version: '1.2.3' })
  const [parser, asks, broken] = ['parser', 'asks', 'broken'].map(make) as [string, string, string]
  for (const root of [parser, asks, broken]) expect(await run(root, 'Write b.txt')).toMatchObject({ exitCode: 0 })
  const asked = async (): Promise<string> => (await runHere(['inbox', '--json'], { cwd: asks, environment })).stdout
  await until(async () => ((await asked()).includes('invalid api key') ? true : undefined), 'the question')
  await runHere(['stop'], { cwd: broken, environment })
  browser = await launchChromium()
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  page = await context.newPage()
  page.on('pageerror', (error) => complaints.push(String(error)))
  await page.goto(await loginTo(parser))
  await page.getByRole('heading', { name: 'Now' }).waitFor(slow)
})
afterAll(async () => {
  await browser?.close()
  await served?.stop()
  rmSync(top, { recursive: true, force: true, maxRetries: 5 })
})

const row = (name: string) => page.getByRole('row').filter({ hasText: name })

test('the first page says that another repository asks, and leads to all of them', async () => {
  await page.getByRole('link', { name: 'See where' }).click()
  await page.getByRole('heading', { name: 'Repositories' }).waitFor(slow)
  await expect.poll(() => row('asks').getByRole('cell').allInnerTexts(), slow).toEqual(['1', '0', '1', 'served'])
  expect(await row('broken').getByRole('cell').allInnerTexts()).toEqual(['–', '–', '–', 'stopped'])
  expect(await row('broken').getByRole('button').count()).toBe(0)
})

test('a click leads to the pages of the other one, logged in, and each stays an origin of its own', async () => {
  await row('asks').getByRole('button', { name: 'asks' }).click()
  await page.getByRole('heading', { name: 'Now' }).waitFor(slow)
  const { host, hash } = new URL(page.url())
  const { id } = await openRepository(join(top, 'asks'))
  expect([host.split(':')[0], hash]).toEqual([hostNameOf(id), '#/'])
  await page.getByText('invalid api key').first().waitFor(slow)
  expect(complaints).toEqual([])
})

test('an address leads there once, and only the pages of a person get one that logs in', async () => {
  const { id } = await openRepository(join(top, 'asks'))
  const stateDir = stateDirOf(environment, id)
  const token = readFileSync(join(stateDir, 'token'), 'utf8').trim()
  const { url } = JSON.parse(readFileSync(join(stateDir, 'engine.json'), 'utf8')) as { url: string }
  const parser = (await openRepository(join(top, 'parser'))).id
  const ask = async (bearer: string) => {
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
    const answer = await sendTo(served.socket)(`${url}/repositories/${parser}/visit`, {
      ...{ method: 'POST', body: '{}', headers },
    })
    return ((await answer.json()) as { url: string }).url
  }
  expect(await ask(token)).toMatch(/^http:\/\/r-[\w-]+\.localhost:\d+$/)
  const session = (await page.evaluate("localStorage.getItem('unstuck-session')")) as string
  const address = await ask(session)
  const [begin, code] = address.split('/#login=') as [string, string]
  const redeem = async (): Promise<number> => {
    const init = { method: 'POST', body: JSON.stringify({ code }), headers: { 'content-type': 'application/json' } }
    return (await sendTo(served.socket)(`${begin}/sessions`, init)).status
  }
  expect([await redeem(), await redeem()]).toEqual([200, 401])
})
