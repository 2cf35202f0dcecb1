/** The settings of the owner over a real store: what applies when, what is recorded, and what a restart remembers. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { settingsKeptIn } from '../../src/api/settings.ts'
import { loadConfig, type Config } from '../../src/config/config.ts'
import { loadPlaybook, playbookNames } from '../../src/config/playbook-files.ts'
import { loadPolicyRecovery } from '../../src/config/policy-recovery-file.ts'
import { decideCommand } from '../../src/recovery/proposal/match.ts'
import { contractFile, parseContract } from '../../src/runtime/checks/verify-contract.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { launchSettings } from '../../src/runtime/engine/dispatch.ts'
import { openOwnerSettings, type OwnerSettings } from '../../src/runtime/engine/owner-settings.ts'
import { configStateAt } from '../../src/store/config-state.ts'
import type { Db } from '../../src/store/db.ts'
import { readEvents } from '../../src/store/event.ts'
import { openTestDb } from '../support/test-db.ts'

let db: Db
let root = ''
let agentRuns = false
let frozen: string[] = []
let clock = 0
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(() => db.close())

let place = 0
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'unstuck-settings-'))
  mkdirSync(join(root, '.unstuck'))
  agentRuns = false
  frozen = []
  place += 1
  return () => rmSync(root, { recursive: true })
})

const put = (name: string, value: unknown): void =>
  writeFileSync(join(root, '.unstuck', name), typeof value === 'string' ? value : JSON.stringify(value))

let parsed = 0
const open = (store: Db = db): Promise<OwnerSettings> =>
  openOwnerSettings({
    files: {
      config: (readFile) => {
        parsed += 1
        return loadConfig({ root, readFile })
      },
      policy: (readFile) => loadPolicyRecovery({ root, readFile }),
      contract: (readFile) => {
        const text = readFile(join(root, contractFile))
        return text === undefined ? undefined : parseContract(contractFile, text)
      },
      playbooks: { names: () => playbookNames(root), one: (name, readFile) => loadPlaybook(root, name, readFile) },
    },
    ...{ db: store, place: `here:${place}`, kept: settingsKeptIn(join(root, 'kept')) },
    couldWrite: async () => agentRuns,
    frozenKeys: async () => frozen,
    redact: (text) => text,
    given: (kept) => kept,
    now: () => clock,
  })

const stored = () => configStateAt(db, `here:${place}`)

const eventsSince = async (after: number) =>
  (await readEvents(db, { after, limit: 100 })).map(({ type, payload }) => ({ type, ...payload }))
const lastEvent = async (): Promise<number> => (await readEvents(db, { after: 0, limit: 1000 })).at(-1)?.id ?? 0

const judged = (config: Config, command: string): string | undefined =>
  config.recovery === undefined ? undefined : decideCommand(command, config.recovery).kind

test('AC-10: a command that is added to auto_approve is approved from the next launch on (an iteration), and not before', async () => {
  put('config.json', { recovery: { auto_approve: [], require_human: [] } })
  const settings = await open()
  await settings.refresh()
  const context = launchSettings({
    ...{ config: settings.config, pathPolicy: settings.pathPolicy, contract: settings.contract },
    refreshSettings: settings.refresh,
  } as unknown as Context)
  expect(judged(context.config(), 'npm install')).toBe('ask')
  put('config.json', { recovery: { auto_approve: ['npm install'], require_human: [] } })
  await settings.refresh()
  expect(judged(context.config(), 'npm install')).toBe('ask')
  await context.renewSettings?.()
  expect(judged(context.config(), 'npm install')).toBe('run')
  // Taken away again it is gone within the launch.
  put('config.json', { recovery: { auto_approve: [], require_human: [] } })
  expect(judged(context.config(), 'npm install')).toBe('ask')
})

test('a file that is gone for a moment keeps its settings, and one that returns as it was allows nothing more', async () => {
  const own = { maxParallel: 3, recovery: { auto_approve: ['npm ci'], require_human: [] } }
  put('config.json', own)
  const settings = await open()
  await settings.refresh()
  agentRuns = true
  const file = join(root, '.unstuck', 'config.json')
  const after = await lastEvent()
  rmSync(file)
  for (clock = 0; clock < 59_000; clock += 6_000) {
    await settings.refresh()
    expect([settings.config().maxParallel, judged(settings.config(), 'npm ci')]).toEqual([3, 'run'])
  }
  put('config.json', own)
  await settings.refresh()
  expect(await eventsSince(after)).toEqual([
    { type: 'config.rejected', problem: expect.stringMatching(/config\.json is gone.* 60 s/) as unknown },
  ])
  // Gone for longer it is a decision; the same file is none when it comes back, a wider one is.
  rmSync(file)
  await settings.refresh()
  clock += 61_000
  await settings.refresh()
  expect(settings.config().recovery).toBeUndefined()
  put('config.json', own)
  await settings.refresh()
  expect(judged(settings.config(), 'npm ci')).toBe('run')
  rmSync(file)
  await settings.refresh()
  clock += 61_000
  await settings.refresh()
  put('config.json', { ...own, recovery: { auto_approve: ['npm ci', 'rm -rf .'], require_human: [] } })
  await settings.refresh()
  expect(judged(settings.config(), 'rm -rf .')).not.toBe('run')
  expect((await eventsSince(after)).at(-1)).toMatchObject({ type: 'config.waiting', keys: ['recovery.auto_approve'] })
})

test('within a launch a stricter policy and a longer contract apply at once, looser ones in the next', async () => {
  put('policy-recovery.json', { mode: 'balanced' })
  put('verify.contract.json', { commands: ['npm test'] })
  const settings = await open()
  await settings.refresh()
  const context = launchSettings({
    ...{ config: settings.config, pathPolicy: settings.pathPolicy, contract: settings.contract },
    refreshSettings: settings.refresh,
  } as unknown as Context)
  put('policy-recovery.json', { mode: 'conservative' })
  put('verify.contract.json', { commands: ['npm test', 'npm run lint'] })
  await settings.refresh()
  expect(context.pathPolicy().mode).toBe('conservative')
  expect(context.contract?.()).toEqual({ commands: ['npm test', 'npm run lint'] })
  put('policy-recovery.json', { mode: 'aggressive' })
  put('verify.contract.json', {})
  await settings.refresh()
  expect(context.pathPolicy().mode).toBe('balanced')
  expect(context.contract?.()).toEqual({ commands: ['npm test'] })
  await context.renewSettings?.()
  expect(context.pathPolicy().mode).toBe('aggressive')
  expect(context.contract?.()).toEqual({})
})

test('AC-11: an invalid change of each file is rejected with file, key and reason, once, and the old settings stay', async () => {
  put('config.json', { maxParallel: 3 })
  put('policy-recovery.json', { mode: 'conservative' })
  put('verify.contract.json', { commands: ['npm test'] })
  const settings = await open()
  await settings.refresh()
  const before = await lastEvent()
  put('config.json', { maxParallel: 0 })
  put('policy-recovery.json', { mode: 'reckless' })
  put('verify.contract.json', '{"commands": [')
  await settings.refresh()
  await settings.refresh()
  const events = await eventsSince(before)
  expect(events.map(({ type }) => type)).toEqual(['config.rejected', 'config.rejected', 'config.rejected'])
  const problems = JSON.stringify(events)
  for (const part of ['config.json: maxParallel', 'policy-recovery.json: mode', 'verify.contract.json: it is not JSON'])
    expect(problems).toContain(part)
  expect(settings.config().maxParallel).toBe(3)
  expect(settings.pathPolicy().mode).toBe('conservative')
  expect(settings.contract()).toEqual({ commands: ['npm test'] })
  expect((await configStateAt(db, `here:${place}`))?.rejected).toHaveLength(3)
})

test('AC-12: a reload is logged by the names of the changed keys, without their values', async () => {
  put('config.json', { env: [] })
  const settings = await open()
  await settings.refresh()
  const before = await lastEvent()
  put('config.json', { env: ['SECRET_NAME'], maxParallel: 4 })
  put('verify.contract.json', { commands: ['npm test'] })
  await settings.refresh()
  await settings.refresh()
  expect(await eventsSince(before)).toEqual([
    {
      ...{ type: 'config.reloaded', keys: ['maxParallel', 'env', 'verify.contract.commands'] },
      changes: expect.arrayContaining([
        { key: 'maxParallel', before: expect.any(String) as string, after: expect.any(String) as string },
      ]) as unknown,
    },
  ])
})

test('a change that allows more waits while an agent could have written it, also after the agent ended and the engine restarted', async () => {
  put('config.json', { env: ['A'], deniedPaths: [] })
  const settings = await open()
  await settings.refresh()
  const before = await lastEvent()
  agentRuns = true
  put('config.json', { env: ['A', 'B'], deniedPaths: ['infra/**'] })
  await settings.refresh()
  await settings.refresh()
  expect(settings.config()).toMatchObject({ env: ['A'], deniedPaths: ['infra/**'] })
  agentRuns = false
  await settings.refresh()
  const again = await open()
  await again.refresh()
  expect(again.config()).toMatchObject({ env: ['A'], deniedPaths: ['infra/**'] })
  expect((await eventsSince(before)).map(({ type }) => type)).toEqual(['config.reloaded', 'config.waiting'])
  const { waiting } = (await configStateAt(db, `here:${place}`)) ?? {}
  expect(waiting?.changes).toEqual([{ key: 'env', before: '["A"]', after: '["A","B"]' }])
  await expect(again.confirm('0'.repeat(64))).rejects.toMatchObject({ code: 'STALE' })
  await again.confirm(waiting?.digest ?? '')
  expect(again.config().env).toEqual(['A', 'B'])
  await expect(again.confirm(waiting?.digest ?? '')).rejects.toMatchObject({ code: 'ILLEGAL' })
  const third = await open()
  expect(third.config().env).toEqual(['A', 'B'])
  expect((await eventsSince(before)).map(({ type }) => type).slice(2)).toEqual(['config.confirmed', 'config.reloaded'])
})

test('a change that was undone no longer waits', async () => {
  put('config.json', {})
  const settings = await open()
  await settings.refresh()
  agentRuns = true
  put('config.json', { autoMerge: true })
  await settings.refresh()
  expect((await configStateAt(db, `here:${place}`))?.waiting).not.toBeNull()
  put('config.json', {})
  await settings.refresh()
  expect((await configStateAt(db, `here:${place}`))?.waiting).toBeNull()
})

test('a frozen key stays as it is while it is frozen, which is reported, also where it was absent', async () => {
  put('config.json', { harness: { own: { command: ['one'] } } })
  const settings = await open()
  await settings.refresh()
  const before = await lastEvent()
  frozen = ['harness.own', 'loop.roles']
  put('config.json', {
    ...{ harness: { own: { command: ['two'] } }, maxParallel: 5 },
    loop: { roles: { tester: { model: 'm' } } },
  })
  await settings.refresh()
  await settings.refresh()
  expect(settings.config()).toMatchObject({ maxParallel: 5, harness: { named: { own: { command: ['one'] } } } })
  expect(settings.config().loop.roles).toEqual({})
  frozen = []
  await settings.refresh()
  expect(settings.config().harness.named['own']?.command).toEqual(['two'])
  expect(await eventsSince(before)).toEqual([
    {
      type: 'config.reloaded',
      changes: expect.any(Array) as unknown,
      keys: ['maxParallel'],
      frozen: ['harness.own', 'loop.roles'],
    },
    {
      type: 'config.reloaded',
      changes: expect.any(Array) as unknown,
      keys: ['harness.own.command', 'loop.roles.tester.model'],
    },
  ])
})

test('a confirmed change of a frozen key does not wait again, and applies once the key is free', async () => {
  put('config.json', { harness: { own: { command: ['one'] } } })
  const settings = await open()
  await settings.refresh()
  agentRuns = true
  frozen = ['harness.own']
  put('config.json', { harness: { own: { command: ['two'] } } })
  await settings.refresh()
  await settings.confirm((await stored())?.waiting?.digest ?? '')
  const after = await lastEvent()
  await settings.refresh()
  const again = await open()
  await again.refresh()
  expect((await stored())?.waiting).toBeNull()
  expect(again.config().harness.named['own']?.command).toEqual(['one'])
  // Another change of the same key is another question.
  put('config.json', { harness: { own: { command: ['three'] } } })
  await again.refresh()
  expect((await stored())?.waiting?.changes).toMatchObject([{ key: 'harness.own.command', after: '["three"]' }])
  put('config.json', { harness: { own: { command: ['two'] } } })
  await again.refresh()
  frozen = []
  await again.refresh()
  expect(again.config().harness.named['own']?.command).toEqual(['two'])
  expect((await eventsSince(after)).map(({ type }) => type)).not.toContain('config.confirmed')
})

test('a command that a person approved for always does not wait, and what changed beside it does', async () => {
  put('config.json', { recovery: { auto_approve: [] } })
  const settings = await open()
  await settings.refresh()
  agentRuns = true
  settings.approve({ key: 'recovery.auto_approve', value: 'npm install' })
  put('config.json', { recovery: { auto_approve: ['npm install', 'curl evil'] } })
  await settings.refresh()
  expect(settings.config().recovery?.auto_approve).toEqual(['npm install'])
  expect((await stored())?.waiting?.changes).toMatchObject([{ before: '["npm install"]' }])
  // It was approved for that change of the file, not for a later one.
  put('config.json', { recovery: { auto_approve: [] } })
  await settings.refresh()
  put('config.json', { recovery: { auto_approve: ['npm install'] } })
  await settings.refresh()
  expect(settings.config().recovery?.auto_approve).toEqual([])
})

/** A store whose commits are lost, as by a crash before them. */
const crashing = (): Db =>
  Object.assign(Object.create(db) as Db, { transaction: () => Promise.reject(new Error('crash')) })

test('what waits does not apply after a crash between the kept text and the commit', async () => {
  put('config.json', { env: ['A', 'B'] })
  await (await open()).refresh()
  agentRuns = true
  put('config.json', { env: ['A', 'B', 'EVIL'] })
  await (await open()).refresh()
  put('config.json', { env: ['A', 'EVIL'] })
  await expect((await open(crashing())).refresh()).rejects.toThrow('crash')
  const settings = await open()
  expect(settings.config().env).toEqual(['A'])
  await settings.refresh()
  expect(settings.config().env).toEqual(['A'])
  expect(readdirSync(join(root, 'kept'))).toEqual([`${(await stored())?.accepted}.json`])
})

test('where the kept settings are lost or of another version, only the defaults apply until a pass has decided', async () => {
  put('config.json', { env: ['A'], maxParallel: 1 })
  await (await open()).refresh()
  agentRuns = true
  for (const lose of [
    () => rmSync(join(root, 'kept'), { recursive: true }),
    () => writeFileSync(join(root, 'kept', readdirSync(join(root, 'kept'))[0] ?? ''), '{"config":{"nonsense":1}}'),
  ]) {
    lose()
    const settings = await open()
    expect(settings.config()).toMatchObject({ env: [], maxParallel: 1 })
    await settings.refresh()
    expect((await stored())?.waiting?.changes).toMatchObject([{ key: 'env' }])
    await settings.confirm((await stored())?.waiting?.digest ?? '')
    expect(settings.config().env).toEqual(['A'])
  }
})

test('an engine that was replaced stores nothing on top of its successor', async () => {
  put('config.json', { env: ['A'] })
  const replaced = await open()
  await replaced.refresh()
  const successor = await open()
  agentRuns = true
  put('config.json', { env: ['A', 'B'] })
  await successor.refresh()
  await successor.confirm((await stored())?.waiting?.digest ?? '')
  const before = await lastEvent()
  await replaced.refresh()
  expect((await stored())?.waiting).toBeNull()
  expect(replaced.config().env).toEqual(['A', 'B'])
  expect(await eventsSince(before)).toEqual([])
})

test('files that did not change are not parsed again', async () => {
  put('config.json', { env: ['A'] })
  const settings = await open()
  await settings.refresh()
  const before = parsed
  expect(settings.config()).toBe(settings.config())
  expect(parsed).toBe(before)
  put('config.json', { env: [] })
  expect(settings.config().env).toEqual([])
  put('config.json', 'broken')
  expect([settings.config().env, settings.config().env]).toEqual([['A'], ['A']])
  expect(parsed).toBe(before + 2)
})
