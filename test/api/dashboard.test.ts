/** The dashboard's files in a checkout: built once into the cache without making anybody wait, and a build that fails is told. */
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDashboard, type Dashboard, type DashboardState } from '../../src/api/dashboard.ts'
import { openApiScene, type ApiScene } from './scene.ts'

const checkout = join(import.meta.dirname, '..', '..')
const stopping = new AbortController()
let top = ''

/** A checkout that a test may break. */
const copyOf = (name: string): { place: string; cacheDir: string; dashboard: Dashboard } => {
  const root = join(top, name)
  for (const part of ['dashboard', 'src/domain']) cpSync(join(checkout, part), join(root, part), { recursive: true })
  mkdirSync(join(root, 'src', 'api'))
  for (const file of ['src/api/contract.ts', 'package.json', 'package-lock.json', 'tsconfig.json'])
    copyFileSync(join(checkout, file), join(root, file))
  symlinkSync(join(checkout, 'node_modules'), join(root, 'node_modules'))
  const place = join(root, 'dashboard')
  const cacheDir = join(root, 'cache')
  const environment = { PATH: process.env.PATH }
  return { place, cacheDir, dashboard: createDashboard({ place, cacheDir, environment, stopping: stopping.signal }) }
}

const built = async (dashboard: Dashboard): Promise<DashboardState> => {
  const deadline = performance.now() + 120_000
  for (;;) {
    const look = await dashboard.locate()
    if (look.state !== 'building') return look
    if (performance.now() > deadline) throw new Error('waited too long for the build')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

let good: ReturnType<typeof copyOf>
beforeAll(() => {
  top = mkdtempSync(join(tmpdir(), 'unstuck-dashboard-'))
  good = copyOf('good')
})
afterAll(() => {
  stopping.abort()
  rmSync(top, { recursive: true, force: true })
})

test('is built once, and again when a source has changed', async () => {
  const { place, cacheDir, dashboard } = good
  expect((await dashboard.locate()).state).toBe('building')
  expect(await built(dashboard)).toMatchObject({ state: 'ready' })
  expect(await dashboard.locate()).toMatchObject({ state: 'ready' })
  expect(readdirSync(cacheDir)).toHaveLength(1)
  writeFileSync(join(place, 'style.css'), 'body { color: red }')
  expect((await dashboard.locate()).state).toBe('building')
  await built(dashboard)
  // Neither a half of a build is left nor is the old one used.
  expect(readdirSync(cacheDir).map((name) => /^dashboard-[0-9a-f]{16}$/.test(name))).toEqual([true, true])
})

test('a build that fails says why, once, and the next look tries again', async () => {
  const { place, dashboard } = copyOf('bad')
  const good = readFileSync(join(place, 'main.tsx'))
  writeFileSync(join(place, 'main.tsx'), 'import "./nowhere.ts"\n')
  const failed = await built(dashboard)
  expect(failed).toEqual({ state: 'failed', reason: expect.stringContaining('nowhere.ts') as string })
  expect(failed).not.toEqual({ state: 'failed', reason: expect.stringContaining('\u001b') as string })
  expect((await dashboard.locate()).state).toBe('building')
  expect((await built(dashboard)).state).toBe('failed')
  writeFileSync(join(place, 'main.tsx'), good)
  expect((await built(dashboard)).state).toBe('ready')
})

test('without its build tool it says what to run', async () => {
  const { place, dashboard } = copyOf('bare')
  rmSync(join(place, '..', 'node_modules'))
  expect(await built(dashboard)).toEqual({ state: 'failed', reason: expect.stringContaining('npm ci') as string })
})

test('an engine that stops ends the build', async () => {
  const { place, cacheDir } = copyOf('stopped')
  const ended = new AbortController()
  const dashboard = createDashboard({
    place,
    cacheDir,
    environment: { PATH: process.env.PATH },
    stopping: ended.signal,
  })
  await dashboard.locate()
  ended.abort()
  expect((await built(dashboard)).state).toBe('failed')
})

test.each([
  '',
  '..',
  '../index.html',
  'index.html',
  'a/b.js',
  '.env',
  'x.map',
  '..%2findex.html',
  '../../dashboard/main.tsx',
])('a file %j is not served', async (name) => {
  expect((await built(good.dashboard)).state).toBe('ready')
  expect(await good.dashboard.asset(name)).toBeUndefined()
})

let scene: ApiScene | undefined
afterAll(async () => scene?.clear())

test('the page and its files come with their policies, and need no login', async () => {
  scene = await openApiScene(['honest'])
  const { call } = scene
  const page = async (): Promise<string> => {
    for (;;) {
      const { text, headers } = await call({ path: '/', headers: { accept: 'text/html' } })
      if (!text.includes('being built')) {
        expect(headers['content-security-policy']).toMatch(
          /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; base-uri 'none'/,
        )
        expect(headers['cache-control']).toBe('no-store')
        return text
      }
      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; base-uri/,
      )
    }
  }
  const text = await page()
  expect(text).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|style=|javascript:|https?:/i)
  const names = [...text.matchAll(/(?:src|href)="\.(\/assets\/[^"]+-[\w-]{8}\.(js|css|svg))"/g)]
  expect(new Set(names.map(([, , kind]) => kind))).toEqual(new Set(['css', 'js', 'svg']))
  for (const [, path = ''] of names) {
    const found = await call({ path })
    expect([path, found.status, found.headers['cache-control']]).toEqual([
      path,
      200,
      'private, max-age=31536000, immutable',
    ])
    expect((await call({ path, headers: { authorization: undefined } })).status).toBe(200)
    // The dashboard takes only types and constants from the contract.
    expect([path, /ZodError|strictObject/.test(found.text)]).toEqual([path, false])
  }
  expect((await call({ path: '/assets/index.js' })).status).toBe(404)
  expect((await call({ path: '/assets/..%2findex.html' })).status).toBe(404)
  const lost = await call({ path: '/nosuch<b>', headers: { accept: 'text/html' } })
  expect([lost.status, lost.text]).toEqual([404, expect.stringContaining('no such page')])
  expect(lost.text).not.toContain('<b>')
})
