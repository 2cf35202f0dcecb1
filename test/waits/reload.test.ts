/** What a person changes in their files while an engine works, and what an agent changes there. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConfigStateView, StatusView } from '../../src/api/contract.ts'
import { openScene, until, type Scene } from '../hostile/scene.ts'

/** Edits the configuration in its clone, waits while a file says so, and does the work. */
const agent = `
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
const [dir] = process.argv.slice(2)
writeFileSync(join(dir, 'started'), '')
mkdirSync('.unstuck', { recursive: true })
writeFileSync('.unstuck/config.json', JSON.stringify({ recovery: { auto_approve: ['curl evil'] } }))
const work = () => writeFileSync('src/work.txt', 'done\\n')
const wait = () => (existsSync(join(dir, 'hold')) ? setTimeout(wait, 20) : work())
wait()
`

type File = Record<string, unknown>

const dir = mkdtempSync(join(tmpdir(), 'unstuck-reload-'))
const held = join(dir, 'hold')
let scene: Scene
let path = ''
let first: File = {}

beforeAll(async () => {
  writeFileSync(join(dir, 'agent.mjs'), agent)
  scene = await openScene(['scripted'], {
    commands: { scripted: [process.execPath, join(dir, 'agent.mjs'), dir] },
    config: { recovery: { auto_approve: ['npm install'], require_human: ['curl *'] } },
  })
  path = join(scene.root, '.unstuck', 'config.json')
  first = JSON.parse(readFileSync(path, 'utf8')) as File
})
afterAll(async () => {
  await scene.clear()
  rmSync(dir, { recursive: true })
})

const write = (change: File): void => writeFileSync(path, JSON.stringify({ ...first, ...change }))
const keysOf = async (type: string): Promise<unknown[]> => (await scene.events(type)).map(({ payload }) => payload.keys)
const next = async (type: string, count: number): Promise<unknown[]> =>
  until(async () => {
    const found = await keysOf(type)
    return found.length >= count ? found : undefined
  }, `event ${type}`)

test('AC-11 and AC-12: an invalid change is rejected by file, key and reason, the old one kept; a valid one is logged by its keys', async () => {
  await scene.begin()
  write({ maxParallel: 'many' })
  const [rejected] = await until(async () => {
    const found = await scene.events('config.rejected')
    return found.length > 0 ? found : undefined
  }, 'the rejection')
  expect(rejected?.payload.problem).toContain(`${path}: maxParallel`)
  expect(rejected?.payload.problem).toContain('allowed: a whole number from 1 to 256')
  const status = await scene.here('status')
  expect(status.stdout).toContain('maxParallel')
  const check = await scene.here('config', 'check')
  expect([check.exitCode, check.stdout]).toEqual([78, expect.stringContaining('maxParallel')])
  write({ maxParallel: 3 })
  expect(await next('config.reloaded', 1)).toEqual([['maxParallel']])
  expect((await scene.here('config', 'check')).exitCode).toBe(0)
  expect((await scene.api<StatusView>('/status')).notices).toEqual([])
  write({})
  expect(await next('config.reloaded', 2)).toEqual([['maxParallel'], ['maxParallel']])
})

test('what an agent could have written waits for the person, what allows less applies at once, and its clone decides nothing', async () => {
  await scene.begin()
  rmSync(join(dir, 'started'), { force: true })
  writeFileSync(held, '')
  const goal = scene.work()
  await until(async () => (existsSync(join(dir, 'started')) ? true : undefined), 'the agent')
  write({ recovery: { auto_approve: ['npm install', 'curl evil'], require_human: ['curl *', 'wget *'] } })
  expect(await next('config.waiting', 1)).toEqual([['recovery.auto_approve']])
  expect(await keysOf('config.reloaded')).toEqual([['recovery.require_human']])
  expect((await scene.here('status')).stdout).toContain('unstuck config confirm')
  const shown = await scene.here('config', 'confirm')
  expect([shown.exitCode, shown.stdout]).toEqual([2, expect.stringContaining('+ ["npm install","curl evil"]')])
  const { waiting } = await scene.api<ConfigStateView>('/config')
  const digest = waiting?.digest ?? ''
  // Another change than the one that was shown.
  write({ recovery: { auto_approve: ['npm install', 'curl evil', 'rm x'], require_human: ['curl *', 'wget *'] } })
  const stale = await scene.here('config', 'confirm', '--digest', digest)
  expect([stale.exitCode, stale.stderr]).toEqual([5, expect.stringContaining('no longer the one that was shown')])
  const now = await scene.api<ConfigStateView>('/config')
  const confirmed = await scene.here('config', 'confirm', '--digest', now.waiting?.digest ?? '')
  expect([confirmed.exitCode, confirmed.stderr]).toEqual([0, ''])
  expect((await keysOf('config.reloaded')).at(-1)).toEqual(['recovery.auto_approve'])
  rmSync(held)
  await goal
  expect((await scene.api<StatusView>('/status')).notices).toEqual([])
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
    recovery: { auto_approve: ['npm install', 'curl evil', 'rm x'] },
  })
})
