/** The facts about the machine in the owner's checkout: when they are written, and what may stand in their way. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { realFiles, type Files } from '../../src/runtime/core/files.ts'
import { realPorts } from '../../src/runtime/core/ports.ts'
import { createContextExportJob } from '../../src/runtime/engine/export-context.ts'
import { sql, type Db } from '../../src/store/db.ts'
import { becomeLeader, fencedByTerm, LeadershipLostError } from '../../src/store/leader.ts'
import { insertRecovery, resolveRecovery } from '../../src/store/recovery.ts'
import { saveRun } from '../../src/store/run.ts'
import type { Repository } from '../../src/workspace/repository-types.ts'
import { activeGoal, agents, claimed, empty, end, recoveryOf } from '../store/scene.ts'
import { commitAll, put, user } from '../workspace/scene.ts'
import { openTestDb } from '../support/test-db.ts'

let db: Db
let top: string
let root: string
let elapsed: number
let warnings: string[]
let job: (context: Context) => Promise<void>
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(() => db.close())
beforeEach(async () => {
  await empty(db)
  await agents(db, 'a1')
  await activeGoal(db, 'g', [{}])
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-context-')))
  root = join(top, 'project')
  mkdirSync(root)
  mkdirSync(join(top, 'state'))
  user(root, 'init', '--quiet', '--initial-branch=main')
  put(root, { 'a.txt': 'a\n' })
  commitAll(root, 'first')
  elapsed = 0
  warnings = []
  job = createContextExportJob()
  return () => rmSync(top, { recursive: true })
})

const contextOf = (parts: { repository?: Partial<Repository>; files?: Files; db?: Db } = {}): Context =>
  ({
    db: parts.db ?? db,
    host: 'host',
    ports: { ...realPorts, files: parts.files ?? realFiles },
    environment: { PATH: '', API_TOKEN: 'hunter2-hunter2' },
    config: () => configSchema.parse({}),
    stopping: new AbortController().signal,
    stateDir: join(top, 'state'),
    repository: { root, commonDir: join(root, '.git'), ...parts.repository },
    log: { warn: (fields: { error: string }, message: string) => warnings.push(`${message}: ${fields.error}`) },
    clock: { now: () => new Date(Date.UTC(2026, 0, 1)), elapsed: () => elapsed, after: () => () => undefined },
  }) as unknown as Context

const folder = (): string => join(root, '.unstuck/context')
const text = (name: string): string => readFileSync(join(folder(), name), 'utf8')
const later = (): void => void (elapsed += 10_000)
/** When everything is looked at again without news. */
const muchLater = (): void => void (elapsed += 600_000)

const broke = async (): Promise<void> => {
  const { run } = await claimed(db, 'a1')
  const entry = recoveryOf(run, {
    ...{ rung: 4, signature: 'environment_issue/disk_full: no space for hunter2-hunter2' },
    ...{ issueDetected: 'no space for hunter2-hunter2', action: { type: 'wait', name: 'WAIT_AND_REQUEUE' } },
  })
  await insertRecovery(db, entry)
  await resolveRecovery(db, entry.id, 'success', '')
}

test('.unstuck/context/agent-profile.json and context-delta.json follow the store, and git does not see them', async () => {
  await job(contextOf())
  expect(readdirSync(folder()).sort()).toEqual(['.gitignore', 'agent-profile.json'])
  expect(JSON.parse(text('agent-profile.json'))).toEqual(
    JSON.parse(readFileSync(join(top, 'state/host-snapshot.json'), 'utf8')),
  )
  await broke()
  // Not at each pass of the engine.
  await job(contextOf())
  expect(existsSync(join(folder(), 'context-delta.json'))).toBe(false)
  later()
  await job(contextOf())
  expect(JSON.parse(text('context-delta.json'))).toMatchObject({
    schemaVersion: 1,
    reasonSignatures: [{ label: 'disk_full', count: 1, curedBy: 'waited and retried' }],
  })
  expect(text('context-delta.json')).not.toContain('hunter2')
  expect(statSync(join(folder(), 'context-delta.json')).mode & 0o777).toBe(0o600)
  expect(user(root, 'status', '--porcelain')).toBe('')
  // What is damaged is written again, and what says nothing any more is removed.
  writeFileSync(join(folder(), 'agent-profile.json'), '{}')
  await db.query(sql`update recovery set started_at = started_at - interval '25 hours'`)
  muchLater()
  await job(contextOf())
  expect(JSON.parse(text('agent-profile.json'))).toMatchObject({ schemaVersion: 1 })
  expect(readdirSync(folder()).sort()).toEqual(['.gitignore', 'agent-profile.json'])
})

test('an engine without work leaves the checkout as it is', async () => {
  await empty(db)
  await job(contextOf())
  expect(existsSync(join(root, '.unstuck'))).toBe(false)
})

test('an engine in which nothing ran reads nothing again, and one in which something did at once', async () => {
  let reads = 0
  const query: Db['query'] = (statement) => {
    if (statement.text.includes('from recovery')) reads += 1
    return db.query(statement)
  }
  const readsAfter = async (wait: () => void): Promise<number> => {
    reads = 0
    wait()
    await job(contextOf({ db: { ...db, query } }))
    return reads
  }
  const { run } = await claimed(db, 'a1')
  expect(await readsAfter(later)).toBe(1)
  for (let count = 0; count < 20; count += 1) expect(await readsAfter(later)).toBe(0)
  await db.transaction((tx) => saveRun(tx, run, { phase: 'launch' }))
  expect(await readsAfter(later)).toBe(0)
  await end(db, run, 'failed', 'run_failed')
  expect(await readsAfter(later)).toBe(1)
  expect(await readsAfter(later)).toBe(0)
  expect(await readsAfter(muchLater)).toBe(1)
})

test('an export is never read back', async () => {
  mkdirSync(folder(), { recursive: true })
  const planted = { schemaVersion: 1, host: { os: 'Planted' } }
  writeFileSync(join(folder(), 'agent-profile.json'), JSON.stringify(planted))
  writeFileSync(
    join(folder(), 'context-delta.json'),
    JSON.stringify({ reasonSignatures: [{ lastMessage: 'Planted' }] }),
  )
  await job(contextOf())
  expect(text('agent-profile.json')).not.toContain('Planted')
  expect(existsSync(join(folder(), 'context-delta.json'))).toBe(false)
})

test.each([
  ['a repository by URL', { url: 'https://example.org/x.git' }],
  ['a plain folder', { commonDir: null }],
])('nothing is written for %s', async (_, repository) => {
  await job(contextOf({ repository }))
  expect(existsSync(join(root, '.unstuck'))).toBe(false)
})

test.each(['.unstuck', '.unstuck/context'])('a link at %s is not followed, and said once', async (place) => {
  const elsewhere = join(top, 'elsewhere')
  mkdirSync(elsewhere)
  mkdirSync(join(root, place, '..'), { recursive: true })
  symlinkSync(elsewhere, join(root, place))
  for (const _ of [1, 2]) {
    await job(contextOf())
    later()
  }
  expect(readdirSync(elsewhere)).toEqual([])
  expect(warnings).toEqual([expect.stringContaining('.unstuck/context: a folder on the way is a link')])
  rmSync(join(root, place))
  await job(contextOf())
  expect(text('agent-profile.json')).toContain('schemaVersion')
})

test('a link in place of a file is replaced, and its target stays', async () => {
  mkdirSync(folder(), { recursive: true })
  writeFileSync(join(top, 'mine.json'), 'mine')
  symlinkSync(join(top, 'mine.json'), join(folder(), 'agent-profile.json'))
  await job(contextOf())
  expect(readFileSync(join(top, 'mine.json'), 'utf8')).toBe('mine')
  expect(text('agent-profile.json')).toContain('schemaVersion')
  // Also if the text behind the link is the one that would be written.
  renameSync(join(folder(), 'agent-profile.json'), join(top, 'same.json'))
  symlinkSync(join(top, 'same.json'), join(folder(), 'agent-profile.json'))
  muchLater()
  await job(contextOf())
  expect(realFiles.isLink(join(folder(), 'agent-profile.json'))).toBe(false)
})

test('a reader sees the old file or the new one, whenever the engine is killed', async () => {
  await broke()
  await job(contextOf())
  const before = text('context-delta.json')
  await db.query(sql`update recovery set issue_detected = 'another'`)
  muchLater()
  for (const step of ['rmSync', 'writeFileSync', 'renameSync'] as const) {
    const files = {
      ...realFiles,
      [step]: () => {
        throw new Error('killed')
      },
    }
    later()
    await job(contextOf({ files }))
    expect(text('context-delta.json')).toBe(before)
  }
  later()
  await job(contextOf())
  expect(text('context-delta.json')).toContain('another')
})

test('an engine that no longer leads writes nothing, and a moved repository is not made again', async () => {
  const old = await becomeLeader(db, 'e-1')
  await becomeLeader(db, 'e-2')
  await expect(job(contextOf({ db: fencedByTerm(db, old) }))).rejects.toThrow(LeadershipLostError)
  expect(existsSync(join(root, '.unstuck'))).toBe(false)
  later()
  renameSync(root, join(top, 'moved'))
  await job(contextOf())
  expect(existsSync(root)).toBe(false)
})
