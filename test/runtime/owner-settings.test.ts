/** The settings of the owner over a real store: what applies when, what is recorded, and what a restart remembers. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { loadConfig, type Config } from '../../src/config.ts'
import { loadPolicyRecovery } from '../../src/policy-recovery-file.ts'
import { decideCommand } from '../../src/recovery/proposal/match.ts'
import { readContract } from '../../src/runtime/checks/verify-contract.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { realFiles } from '../../src/runtime/core/files.ts'
import { iterationContext } from '../../src/runtime/engine/iteration-context.ts'
import { openOwnerSettings, type OwnerSettings } from '../../src/runtime/engine/owner-settings.ts'
import { configStateAt } from '../../src/store/config-state.ts'
import type { Db } from '../../src/store/db.ts'
import { readEvents } from '../../src/store/event.ts'
import { openPglite } from '../../src/store/pglite.ts'
import { loadTemplate } from '../../src/store/template.ts'

let db: Db
let root = ''
let agentRuns = false
let harnesses: string[] = []
beforeAll(async () => {
  db = await openPglite({ dataDir: null, template: await loadTemplate(inject('storeCache')) })
})
afterAll(() => db.close())

let place = 0
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'unstuck-settings-'))
  mkdirSync(join(root, '.unstuck'))
  agentRuns = false
  harnesses = []
  place += 1
  return () => rmSync(root, { recursive: true })
})

const put = (name: string, value: unknown): void =>
  writeFileSync(join(root, '.unstuck', name), typeof value === 'string' ? value : JSON.stringify(value))

const open = (): Promise<OwnerSettings> =>
  openOwnerSettings({
    files: {
      config: () => loadConfig({ root }),
      policy: () => loadPolicyRecovery({ root }),
      contract: () => readContract(realFiles, root),
    },
    ...{ db, place: `here:${place}` },
    kept: {
      read: () => {
        try {
          return readFileSync(join(root, 'kept'), 'utf8')
        } catch {
          return undefined
        }
      },
      write: (text) => writeFileSync(join(root, 'kept'), text),
    },
    couldWrite: async () => agentRuns,
    inUse: async () => harnesses,
    redact: (text) => text,
    given: (kept) => kept,
  })

const eventsSince = async (after: number) =>
  (await readEvents(db, { after, limit: 100 })).map(({ type, payload }) => ({ type, ...payload }))
const lastEvent = async (): Promise<number> => (await readEvents(db, { after: 0, limit: 1000 })).at(-1)?.id ?? 0

const judged = (config: Config, command: string): string | undefined =>
  config.recovery === undefined ? undefined : decideCommand(command, config.recovery).kind

test('AC-10: a command that is added to auto_approve is approved in the next iteration, and not before', async () => {
  put('config.json', { recovery: { auto_approve: [], require_human: [] } })
  const settings = await open()
  await settings.refresh()
  const context = iterationContext({
    ...{ config: settings.config, pathPolicy: settings.pathPolicy, contract: settings.contract },
    refreshSettings: settings.refresh,
  } as unknown as Context)
  expect(judged(context.config(), 'npm install')).toBe('ask')
  put('config.json', { recovery: { auto_approve: ['npm install'], require_human: [] } })
  await settings.refresh()
  expect(judged(context.config(), 'npm install')).toBe('ask')
  await context.nextIteration?.()
  expect(judged(context.config(), 'npm install')).toBe('run')
  // Taken away again it is gone within the iteration.
  put('config.json', { recovery: { auto_approve: [], require_human: [] } })
  expect(judged(context.config(), 'npm install')).toBe('ask')
})

test('within an iteration a stricter policy and a longer contract apply at once, looser ones in the next', async () => {
  put('policy-recovery.json', { mode: 'balanced' })
  put('verify.contract.json', { commands: ['npm test'] })
  const settings = await open()
  await settings.refresh()
  const context = iterationContext({
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
  await context.nextIteration?.()
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
    { type: 'config.reloaded', keys: ['maxParallel', 'env', 'verify.contract.commands'] },
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

test('the harness of a running run stays as it is until the run ends, which is reported', async () => {
  put('config.json', { harness: { own: { command: ['one'] } } })
  const settings = await open()
  await settings.refresh()
  const before = await lastEvent()
  harnesses = ['own']
  put('config.json', { harness: { own: { command: ['two'] } }, maxParallel: 5 })
  await settings.refresh()
  await settings.refresh()
  expect(settings.config()).toMatchObject({ maxParallel: 5, harness: { named: { own: { command: ['one'] } } } })
  harnesses = []
  await settings.refresh()
  expect(settings.config().harness.named['own']?.command).toEqual(['two'])
  expect(await eventsSince(before)).toEqual([
    { type: 'config.reloaded', keys: ['maxParallel'], frozen: ['harness.own'] },
    { type: 'config.reloaded', keys: ['harness.own.command'] },
  ])
})
