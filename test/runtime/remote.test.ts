/** Who may push is asked of the store immediately before each push: a holder that lost its place pushes nothing. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { AppError } from '../../src/errors.ts'
import type { Context, RemoteLink } from '../../src/runtime/core/context.ts'
import { createRemoteLink } from '../../src/runtime/core/remote-link.ts'
import { pushMerge } from '../../src/runtime/landing/remote-merge.ts'
import { publishRun } from '../../src/runtime/run/remote-run.ts'
import type { RunContext } from '../../src/runtime/core/run-context.ts'
import { claimTask } from '../../src/store/claim.ts'
import { mustSucceed, sql, StaleError } from '../../src/store/db.ts'
import { readEvents } from '../../src/store/event.ts'
import { enqueueMerge, listMerges, moveMerge } from '../../src/store/merge.ts'
import type { PushUpdate, Remote } from '../../src/workspace/remote.ts'
import { openTestStore, type Store } from './store.ts'

const commit = 'c'.repeat(40)
const base = 'b'.repeat(40)

let store: Store
let pushed: PushUpdate[]
/** Happens between the intent and the push. */
let meanwhile: () => Promise<void>
let answer: () => Promise<{ kind: 'done' }>
let link: RemoteLink
let now: number
let context: Context

beforeAll(async () => {
  store = await openTestStore()
})
afterAll(() => store.close())
beforeEach(async () => {
  await store.reset()
  pushed = []
  meanwhile = async () => undefined
  answer = async () => ({ kind: 'done' })
  now = 0
  const remote: Remote = {
    url: '/srv/p.git',
    head: async () => ({ branch: 'main', commit: base }),
    fetchRefs: async () => ({}),
    list: async () => ({}),
    push: async (updates) => {
      pushed.push(...updates)
      return answer()
    },
  }
  const clock = { elapsed: () => now, wait: async (ms: number) => void (now += ms) }
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const parts = { ...store.context, clock, log } as unknown as Context
  link = createRemoteLink(remote, parts)
  context = {
    ...parts,
    remote: link,
    at: () => undefined,
    config: () => ({ lease: { ttlSeconds: 60 } }),
    ports: { git: { bringObjects: () => meanwhile() } },
    stopping: new AbortController().signal,
  } as unknown as Context
})

const session = async (): Promise<RunContext> => {
  const { goal, tasks } = await store.goal()
  const claim = await store.db.transaction((tx) => claimTask(tx, { agentId: 'agent-1', runId: 'r-1', ttlSeconds: 60 }))
  if (claim === undefined) throw new Error('nothing to claim')
  const parts = { goal, task: tasks[0], run: claim.run, abort: new AbortController() }
  return { ...parts, context } as unknown as RunContext
}

const types = async (): Promise<string[]> =>
  (await readEvents(store.db, { after: 0, limit: 1000 })).map(({ type }) => type)

it("a run's holder pushes its commit and enters the last phase", async () => {
  const holder = await session()
  expect(await publishRun(holder, commit)).toBe('on')
  expect(pushed).toEqual([{ ref: 'refs/unstuck/runs/r-1', to: commit, expected: null }])
  expect(holder.run).toMatchObject({ phase: 'finish', commit })
})

it('a holder whose lease went to another epoch pushes nothing', async () => {
  const holder = await session()
  meanwhile = async () => void (await store.db.query(sql`update lease set epoch = epoch + 1`))
  await expect(publishRun(holder, commit)).rejects.toThrow(StaleError)
  expect(pushed).toEqual([])
})

it('a holder whose lease is gone stops pushing in the middle of an outage', async () => {
  const holder = await session()
  let tries = 0
  answer = async () => {
    tries += 1
    if (tries === 3) await store.db.query(sql`delete from lease`)
    throw new AppError('REMOTE_UNAVAILABLE', 'away')
  }
  await expect(publishRun(holder, commit)).rejects.toThrow(StaleError)
  expect(tries).toBe(3)
})

it('an outage is told once at its begin and once at its end, and makes the tries rarer', async () => {
  const holder = await session()
  let left = 5
  const rests: number[] = []
  answer = async () => {
    rests.push(now)
    left -= 1
    if (left >= 0) throw new AppError('REMOTE_UNAVAILABLE', 'away')
    return { kind: 'done' }
  }
  await publishRun(holder, commit)
  expect(rests).toEqual([0, 1_000, 3_000, 7_000, 15_000, 31_000])
  expect((await types()).filter((type) => type.startsWith('remote.'))).toEqual([
    'remote.unreachable',
    'remote.reachable',
    'remote.pushed',
  ])
  expect(link.failing()).toBe(false)
})

it('a merge whose entry went back to the queue meanwhile pushes nothing', async () => {
  const { goal, task, run } = await session()
  await store.db.transaction((tx) => enqueueMerge(tx, 'm-1', { ...run, commit }))
  const [pending] = await listMerges(store.db, {})
  const entry = mustSucceed(await store.db.transaction((tx) => moveMerge(tx, pending!, 'claimed')))
  meanwhile = async () => void mustSucceed(await store.db.transaction((tx) => moveMerge(tx, entry, 'interrupted')))
  const landing = { context, goal, task, run, entry }
  await expect(pushMerge(landing, { from: base, to: commit })).rejects.toThrow(StaleError)
  expect(pushed).toEqual([])
  meanwhile = async () => undefined
  const [again] = await listMerges(store.db, {})
  const claimed = mustSucceed(await store.db.transaction((tx) => moveMerge(tx, again!, 'claimed')))
  expect(await pushMerge({ ...landing, entry: claimed }, { from: base, to: commit })).toEqual({ kind: 'done' })
  expect(pushed).toEqual([{ ref: `refs/heads/unstuck/goal/${goal.id}`, to: commit, expected: base }])
})
