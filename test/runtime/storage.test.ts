/** The state folder stays within its limit: what is only there to be faster goes, the longest unused first, and nothing that a run uses. */
import { existsSync, mkdtempSync, realpathSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { removeExpired } from '../../src/runtime/engine/retention.ts'
import { limitStorage } from '../../src/runtime/engine/storage-limit.ts'
import { storageView } from '../../src/runtime/engine/storage-view.ts'
import { claimTask } from '../../src/store/claim.ts'
import { readEvents } from '../../src/store/event.ts'
import { put } from '../workspace/scene.ts'
import { openTestStore, type Store } from './store.ts'

let store: Store
let top: string
beforeAll(async () => {
  store = await openTestStore()
})
afterAll(() => store.close())
beforeEach(async () => {
  await store.reset()
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-storage-')))
  return () => rmSync(top, { recursive: true })
})

const megabyte = 1024 ** 2
const day = 24 * 3600
const kinds = ['a', 'b', 'c'].map((letter) => letter.repeat(32))
const folderOf = (kind: string): string => join(top, 'dependencies', kind)

/** Each kind of packages has one megabyte; the first was used `ages[0]` days ago. */
const fill = (...ages: number[]): void => {
  for (const [at, age] of ages.entries()) {
    const folder = folderOf(kinds[at] ?? '')
    put(folder, { 'node_modules/x.js': 'x'.repeat(megabyte) })
    const used = Date.now() / 1000 - age * day
    utimesSync(folder, used, used)
  }
}

const present = (): boolean[] => kinds.map((kind) => existsSync(folderOf(kind)))

const contextOf = (maxMb: number, freeMb = 100_000): Context => {
  const git = { ...realPorts.git, listSnapshots: async () => [], readRefs: async () => ({}) }
  const config = configSchema.parse({ storage: { maxGb: maxMb === -1 ? -1 : (maxMb * megabyte) / 1e9 } })
  return {
    ...store.context,
    ports: { ...realPorts, git },
    stateDir: top,
    shadow: { gitDir: join(top, 'shadow.git') },
    repository: { root: top, commonDir: null },
    clock: { now: () => new Date() },
    config: () => config,
    machine: { room: () => ({ freeMb, totalMb: 200_000, freeInodes: 1, inodes: 2 }) },
    log: { warn: () => undefined },
  } as unknown as Context
}

const freed = async () =>
  (await readEvents(store.db, { after: 0, limit: 100 })).filter(({ type }) => type === 'storage.freed')

test('above the limit the longest unused goes first, told in one event', async () => {
  fill(2, 5, 1)
  await limitStorage(contextOf(2.2))
  expect(present()).toEqual([true, false, true])
  expect(await freed()).toMatchObject([{ payload: { kinds: ['package store'], left: 0 } }])
  await limitStorage(contextOf(2.2))
  expect(await freed()).toHaveLength(1)
})

test('a disk that is nearly full counts as well, and no limit is none', async () => {
  fill(1, 2, 3)
  await limitStorage(contextOf(-1))
  expect(present()).toEqual([true, true, true])
  await limitStorage(contextOf(-1, 2046.5))
  expect(present()).toEqual([true, false, false])
})

test('what no run used for 14 days goes without any shortage', async () => {
  fill(15, 1, 13)
  await limitStorage(contextOf(-1))
  expect(present()).toEqual([false, true, true])
})

test('nothing goes while a run works, whatever the limit', async () => {
  fill(15, 1, 1)
  const { tasks } = await store.goal()
  await store.db.query({ text: `update task set ready = true`, values: [] })
  await store.db.transaction((tx) => claimTask(tx, { agentId: 'agent-1', runId: 'r-storage', ttlSeconds: 60 }))
  expect((await store.task(tasks[0]?.id ?? '')).status).toBe('running')
  await limitStorage(contextOf(0.1))
  expect(present()).toEqual([true, true, true])
})

test('clean removes the copies of packages while no goal is open, and what stays is named with its reason', async () => {
  fill(1)
  const stays = await storageView(contextOf(-1))
  expect(stays.find(({ kind }) => kind === 'package store')?.bytes).toBeGreaterThan(megabyte)
  const { goal } = await store.goal()
  expect(await removeExpired(contextOf(-1), false)).toEqual([])
  await store.move(goal.id, 'cancelled')
  const removed = await removeExpired(contextOf(-1), false)
  expect(removed.map(({ kind, id }) => [kind, id])).toEqual([['package store', kinds[0]]])
  expect(present()[0]).toBe(false)
})
