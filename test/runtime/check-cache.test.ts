/** What is kept of checks stays within its bounds, and goes by `clean` when no goal is open. */
import { existsSync, mkdtempSync, readdirSync, rmSync, truncateSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { dropCachedChecks } from '../../src/runtime/checks/limit-check-cache.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { realFiles } from '../../src/runtime/core/files.ts'
import { openScene, type Scene } from '../recovery/scene.ts'
import { put } from '../workspace/scene.ts'

const dayMs = 24 * 3_600_000

let top = ''
let scene: Scene | undefined
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'unstuck-kept-'))
})
afterEach(async () => {
  await scene?.clear()
  scene = undefined
  rmSync(top, { recursive: true, force: true })
})

const age = (path: string, days: number): void => {
  const at = new Date(Date.now() - days * dayMs)
  utimesSync(path, at, at)
}

test('what is older than 14 days goes, and the oldest where all together take more than 16 MB', () => {
  const place = { stateDir: top, ports: { files: realFiles }, clock: { now: () => new Date() } } as unknown as Context
  const folder = join(top, 'baselines')
  const left = (): string[] => (existsSync(folder) ? readdirSync(folder).sort() : [])
  const some = { all: false, dryRun: false }
  expect(dropCachedChecks(place, some)).toEqual({ count: 0, bytes: 0 })
  put(folder, { 'a.json': '{}', 'b.json': '{}', 'c.json': '{}', 'd.json': '{}' })
  for (const [name, days] of Object.entries({ 'a.json': 15, 'b.json': 13, 'c.json': 2, 'd.json': 1 })) {
    if (name === 'c.json') truncateSync(join(folder, name), 16 * 1024 ** 2 - 4096)
    age(join(folder, name), days)
  }
  expect(dropCachedChecks(place, { all: false, dryRun: true })).toEqual({ count: 2, bytes: 8192 })
  expect(left()).toHaveLength(4)
  expect(dropCachedChecks(place, some)).toEqual({ count: 2, bytes: 8192 })
  expect(left()).toEqual(['c.json', 'd.json'])
  expect(dropCachedChecks(place, some)).toEqual({ count: 0, bytes: 0 })
  expect(dropCachedChecks(place, { all: true, dryRun: false })).toMatchObject({ count: 2 })
  expect(left()).toEqual([])
})

interface Cleaned {
  kind: string
  id: string
  reason: string
  bytes?: number
}

test('the end of a run removes what is too old; `clean` leaves what an open goal may use, and removes all when there is none', async () => {
  scene = await openScene({ agent: { driver: 'claude', program: `begin(); put('made.txt', 'made'); end()` } })
  const work = () => scene!.goal([{ commands: ['node check.js'] }])
  const first = await work()
  await scene.until(first, 'ready')
  const home = join(scene.top, 'home')
  const folder = join(home, readdirSync(home).find((name) => name.startsWith('repo-')) ?? '', 'baselines')
  const [kept = ''] = readdirSync(folder)
  put(folder, { 'old.json': '{}' })
  age(join(folder, 'old.json'), 15)
  const checksOf = (removed: Cleaned[]) => removed.filter(({ kind }) => kind === 'checks')
  const ask = async (dryRun: boolean) => checksOf(await scene!.post<Cleaned[]>('/clean', { dryRun }))
  expect(await ask(true)).toEqual([{ kind: 'checks', id: '1 result', reason: expect.any(String), bytes: 4096 }])
  const second = await work()
  await scene.until(second, 'ready')
  await scene.waitFor('the old one to go', async () => !existsSync(join(folder, 'old.json')) || undefined)
  expect(existsSync(join(folder, kept))).toBe(true)
  expect(await ask(false)).toEqual([])
  for (const goal of [first, second]) await scene.post(`/goals/${goal}/cancel`)
  await scene.until(second, 'cancelled')
  expect(await ask(false)).toMatchObject([{ reason: 'no goal is open' }])
  expect(readdirSync(folder)).toEqual([])
})
