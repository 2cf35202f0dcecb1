/** What cannot be removed is reported, stays, and keeps nothing else from being removed. */
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Context } from '../../src/runtime/core/context.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { removeExpired } from '../../src/runtime/engine/retention.ts'
import { cleaned } from '../../src/api/responses/outcomes.ts'
import { put } from '../workspace/scene.ts'
import { openTestStore } from './store.ts'

test('a workspace that cannot be removed is skipped and named with the reason', async () => {
  const store = await openTestStore()
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-retention-')))
  onTestFinished(async () => {
    rmSync(top, { recursive: true })
    await store.close()
  })
  const workspaceOf = (id: string): string => join(top, 'runs', id, 'workspace')
  const ids = ['r-1', 'r-2', 'r-3']
  for (const id of ids) put(workspaceOf(id), { 'a.txt': 'a' })
  const removeWorkspace = async (dir: string): Promise<void> => {
    if (dir === workspaceOf('r-2')) throw new Error('a file system is mounted')
    return realPorts.git.removeWorkspace(dir)
  }
  const git = { ...realPorts.git, removeWorkspace, listSnapshots: async () => [], readRefs: async () => ({}) }
  const warned: object[] = []
  const context = {
    ...store.context,
    ports: { ...realPorts, git },
    stateDir: top,
    clock: { now: () => new Date() },
    log: { warn: (fields: object) => void warned.push(fields) },
  } as unknown as Context
  const problem = 'a file system is mounted'
  const expected = ids.map((id) =>
    expect.objectContaining({ kind: 'workspace', id, ...(id === 'r-2' ? { problem } : {}) }),
  )
  const removed = await removeExpired(context, false)
  expect(cleaned.parse(removed)).toEqual(expected)
  expect(removed.map((each) => each.problem !== undefined)).toEqual([false, true, false])
  expect(ids.map((id) => existsSync(workspaceOf(id)))).toEqual([false, true, false])
  expect(warned).toEqual([expect.objectContaining({ id: 'r-2', problem })])
})
