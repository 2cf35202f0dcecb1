/** The branch of a goal that something moved is restored, also while a merge into it waits. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Context } from '../../src/runtime/core/context.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { restoreGoalBranches } from '../../src/runtime/landing/ref-guard.ts'
import { getGoal, progressGoal } from '../../src/store/goal.ts'
import { enqueueMerge } from '../../src/store/merge.ts'
import { listRuns } from '../../src/store/run.ts'
import { openShadow } from '../../src/workspace/shadow.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { commitAll, put, user } from '../workspace/scene.ts'
import { openTestStore, type Store } from './store.ts'

let store: Store
let top: string
let context: Context
let head: string

beforeEach(async () => {
  store = await openTestStore()
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-broken-')))
  user(top, 'init', '--quiet', '--initial-branch=main')
  put(top, { 'a.txt': 'a' })
  commitAll(top, 'first')
  head = user(top, 'rev-parse', 'HEAD').trim()
  const log = { warn: (fields: object, text: string) => expect.unreachable(`${text} ${JSON.stringify(fields)}`) }
  const repository = await openRepository(top)
  const shadow = await openShadow(join(top, '.git', 'state'), repository)
  context = {
    ...store.context,
    ports: realPorts,
    repository,
    shadow,
    log,
    host: 'here',
    stopping: new AbortController().signal,
  } as unknown as Context
})
afterEach(async () => {
  await store.close()
  rmSync(top, { recursive: true, force: true })
})

it('a branch that could not be restored at first is restored although a merge is queued', async () => {
  const { goal, tasks } = await store.goal()
  await store.hold(tasks[0]?.id ?? '', head)
  const [run] = await listRuns(store.db, { taskId: tasks[0]?.id ?? '' })
  const broken = { reason: 'failed' as const, detail: 'git failed', tries: 0, question: null, again: false }
  await store.db.transaction(async (tx) => {
    await progressGoal(tx, goal.id, { headCommit: head, landing: { broken } })
    await enqueueMerge(tx, 'm-1', run as NonNullable<typeof run>)
  })
  put(top, { 'a.txt': 'b' })
  commitAll(top, 'foreign')
  user(top, 'branch', `unstuck/goal/${goal.id}`, 'HEAD')
  await restoreGoalBranches(context)
  expect(user(top, 'rev-parse', `unstuck/goal/${goal.id}`).trim()).toBe(head)
  expect((await getGoal(store.db, goal.id))?.landing.broken).toBeNull()
})
