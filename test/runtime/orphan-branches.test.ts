/** The branch of a goal that a kill kept from being taken is put away by the next start, and no other. */
import { mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Context } from '../../src/runtime/core/context.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { removeOrphanBranches, forgetOrphanBranch, recordOrphanBranch } from '../../src/runtime/goal/orphan-branches.ts'
import { openRepository } from '../../src/workspace/repository.ts'
import { commitAll, put, user } from '../workspace/scene.ts'
import { openTestStore, type Store } from './store.ts'

let store: Store
let top: string
let context: Context
let head: string

beforeAll(async () => {
  store = await openTestStore()
})
afterAll(() => store.close())
beforeEach(async () => {
  await store.reset()
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-unborn-')))
  user(top, 'init', '--quiet', '--initial-branch=main')
  put(top, { 'a.txt': 'a' })
  commitAll(top, 'first')
  head = user(top, 'rev-parse', 'HEAD').trim()
  const log = { warn: (fields: object, text: string) => expect.unreachable(`${text} ${JSON.stringify(fields)}`) }
  const stateDir = join(top, '.state')
  context = {
    ...store.context,
    ports: realPorts,
    repository: await openRepository(top),
    stateDir,
    log,
  } as unknown as Context
})
afterEach(async () => {
  rmSync(top, { recursive: true, force: true })
})

const branches = (): string[] =>
  user(top, 'for-each-ref', '--format=%(refname:lstrip=4)', 'refs/heads/unstuck/goal')
    .split('\n')
    .filter((name) => name !== '')
const begin = (id: string, at = head): void => {
  recordOrphanBranch(context, { id, branchPrefix: 'unstuck/' }, head)
  user(top, 'branch', `unstuck/goal/${id}`, at)
}

it('one whose goal is not in the store goes, together with its note', async () => {
  begin('g-lost')
  expect(branches()).toEqual(['g-lost'])
  await removeOrphanBranches(context)
  expect(branches()).toEqual([])
  expect(readdirSync(join(top, '.state', 'unborn'))).toEqual([])
  await removeOrphanBranches(context)
})

it('one of a goal that is there, one that somebody moved and one without a note stay', async () => {
  const { goal } = await store.goal()
  begin(goal.id)
  put(top, { 'a.txt': 'b' })
  commitAll(top, 'second')
  begin('g-moved', user(top, 'rev-parse', 'HEAD').trim())
  user(top, 'branch', 'unstuck/goal/g-other', head)
  begin('g-taken')
  forgetOrphanBranch(context, 'g-taken')
  await removeOrphanBranches(context)
  expect(branches()).toEqual([goal.id, 'g-moved', 'g-other', 'g-taken'].toSorted())
})

it('one of another prefix goes, and one that an older engine noted, which knew no other prefix', async () => {
  recordOrphanBranch(context, { id: 'g-other', branchPrefix: 'team/bot-' }, head)
  user(top, 'branch', 'team/bot-goal/g-other', head)
  user(top, 'branch', 'unstuck/goal/g-older', head)
  writeFileSync(join(top, '.state', 'unborn', 'g-older'), head)
  await removeOrphanBranches(context)
  expect(user(top, 'branch', '--list', '*goal/*')).toBe('')
})

it('a note that was being written is dropped', async () => {
  recordOrphanBranch(context, { id: 'g-half', branchPrefix: 'unstuck/' }, head)
  writeFileSync(join(top, '.state', 'unborn', 'g-half'), head.slice(0, 7))
  await removeOrphanBranches(context)
  expect(readdirSync(join(top, '.state', 'unborn'))).toEqual([])
})
