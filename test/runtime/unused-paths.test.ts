/** The job that ends unused granted and learned paths, and the file in the owner's checkout that lists the learned ones. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { configSchema } from '../../src/config/config-schema.ts'
import type { Context } from '../../src/runtime/core/context.ts'
import { exportLearnedPaths } from '../../src/runtime/core/export-learned.ts'
import { realFiles } from '../../src/runtime/core/files.ts'
import { endUnusedPathsWhenDue } from '../../src/runtime/engine/jobs.ts'
import { forgetPath } from '../../src/runtime/people/path-grants.ts'
import { sql, type Db } from '../../src/store/db.ts'
import { readEvents } from '../../src/store/event.ts'
import { learnPath } from '../../src/store/learned-path.ts'
import { insertPathGrant, listPathGrants } from '../../src/store/path-grant.ts'
import type { Repository } from '../../src/workspace/repository-types.ts'
import { activeGoal, empty } from '../store/scene.ts'
import { commitAll, put, user } from '../workspace/scene.ts'
import { openTestDb } from '../support/test-db.ts'

let db: Db
let root: string
let top: string
let warnings: string[]
beforeAll(async () => {
  db = await openTestDb()
})
afterAll(() => db.close())
beforeEach(async () => {
  await empty(db)
  top = realpathSync(mkdtempSync(join(tmpdir(), 'unstuck-learned-')))
  root = join(top, 'project')
  mkdirSync(root)
  user(root, 'init', '--quiet', '--initial-branch=main')
  put(root, { 'a.txt': 'a\n' })
  commitAll(root, 'first')
  warnings = []
  return () => rmSync(top, { recursive: true })
})

const contextOf = (repository: Partial<Repository> = {}, files = realFiles): Context => {
  const warn = (_fields: object, message: string): number => warnings.push(message)
  return {
    db,
    ports: { files },
    config: () => configSchema.parse({}),
    repository: { root, commonDir: join(root, '.git'), ...repository },
    log: { warn },
  } as unknown as Context
}

const evidence = { untrackedInBase: true, madeBy: ['npm test'], at: '2026-01-01T00:00:00.000Z' }
const learn = (path: string): Promise<boolean> =>
  db.transaction((tx) => learnPath(tx, { path, evidence, goalId: null, taskId: null, runId: null }))
const file = (): string => join(root, '.unstuck/generated-paths.auto.txt')
const listed = (): string[] =>
  readFileSync(file(), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
const exclude = (): string => readFileSync(join(root, '.git/info/exclude'), 'utf8')
const gitStatus = (): string => user(root, 'status', '--porcelain')

describe('the export', () => {
  test('lists the learned paths sorted, says that it is never read back, and git does not see it', async () => {
    for (const path of ['out', 'coverage', 'a b.log']) await learn(path)
    writeFileSync(join(root, '.git/info/exclude'), '# mine\n*.own')
    await exportLearnedPaths(contextOf())
    expect(readFileSync(file(), 'utf8')).toBe(
      '# Generated paths that Unstuck has learned. This file is an export: it is rewritten, and never read back.\n' +
        '# To see why: unstuck grants. To undo one: unstuck grants forget <path>\na b.log\ncoverage\nout\n',
    )
    expect(gitStatus()).toBe('')
    await exportLearnedPaths(contextOf())
    // The owner's own lines stay, and ours is added once.
    expect(exclude()).toBe('# mine\n*.own\n/.unstuck/generated-paths.auto.txt*\n')
    expect(readdirSync(join(root, '.unstuck'))).toEqual(['generated-paths.auto.txt'])
  })

  test('follows what a person forgets, down to the empty list', async () => {
    await learn('coverage')
    const context = contextOf()
    await exportLearnedPaths(context)
    expect(listed()).toEqual(['coverage'])
    await forgetPath(context, { path: 'coverage/', by: 'ada' })
    expect(listed()).toEqual([])
    expect(gitStatus()).toBe('')
  })

  test('is not begun while nothing was learned', async () => {
    await exportLearnedPaths(contextOf())
    expect([existsSync(file()), existsSync(join(root, '.unstuck'))]).toEqual([false, false])
    expect(exclude()).not.toContain('.unstuck')
  })

  test.each<[string, Partial<Repository>]>([
    ['a repository by URL', { url: 'https://example.com/x.git' }],
    ['a plain folder', { commonDir: null }],
  ])('is not written for %s', async (_what, repository) => {
    await learn('coverage')
    await exportLearnedPaths(contextOf(repository))
    expect(existsSync(file())).toBe(false)
  })

  test('is not written while a goal works in the folder itself', async () => {
    await learn('coverage')
    await activeGoal(db, 'g', [{}])
    await db.query(sql`update goal set repo_mode = 'direct'`)
    await exportLearnedPaths(contextOf())
    expect(existsSync(file())).toBe(false)
    await db.query(sql`update goal set state = 'done'`)
    await exportLearnedPaths(contextOf())
    expect(listed()).toEqual(['coverage'])
  })

  test('leaves another file of this name, and follows no link', async () => {
    await learn('coverage')
    mkdirSync(join(root, '.unstuck'))
    writeFileSync(file(), 'mine\n')
    await exportLearnedPaths(contextOf())
    expect(readFileSync(file(), 'utf8')).toBe('mine\n')
    rmSync(join(root, '.unstuck'), { recursive: true })
    mkdirSync(join(top, 'elsewhere'))
    symlinkSync(join(top, 'elsewhere'), join(root, '.unstuck'))
    await exportLearnedPaths(contextOf())
    expect(readdirSync(join(top, 'elsewhere'))).toEqual([])
  })

  test.each(['.git/info/exclude', '.unstuck'])('makes no file where a link at %s leads nowhere yet', async (place) => {
    await learn('coverage')
    rmSync(join(root, place), { recursive: true, force: true })
    symlinkSync(join(top, 'nowhere'), join(root, place))
    await exportLearnedPaths(contextOf())
    expect([existsSync(join(top, 'nowhere')), existsSync(file())]).toEqual([false, false])
  })

  test('that cannot be written is logged once, and nothing else fails', async () => {
    await learn('coverage')
    const refused = (): never => {
      throw new Error('EACCES: permission denied')
    }
    const context = contextOf({}, { ...realFiles, writeFileSync: refused })
    await exportLearnedPaths(context)
    await exportLearnedPaths(context)
    expect(warnings).toEqual(['the learned paths could not be written to .unstuck/generated-paths.auto.txt'])
    expect(gitStatus()).toBe('')
  })
})

describe('the job of the leader', () => {
  const ageBy = (days: number) =>
    db.query(sql`update learned_path set last_seen_at = unstuck_now() - make_interval(days => ${days}::int)`)
  const types = async (): Promise<string[]> => (await readEvents(db, { after: 0, limit: 100 })).map(({ type }) => type)
  const target = { scope: 'area' as const, areas: ['src'], taskId: null, runId: null, goalId: null, role: null }
  const grant = (id: string) =>
    db.transaction((tx) =>
      insertPathGrant(tx, { ...target, id, path: id, rule: 'person', why: 'so', grantedBy: 'ada', sourceText: '' }),
    )

  test('ends what was not used, rewrites the export, and is due again an hour later', async () => {
    await learn('coverage')
    await grant('p-1')
    await exportLearnedPaths(contextOf())
    await ageBy(31)
    await db.query(sql`update path_grant set last_used_at = unstuck_now() - make_interval(days => 40)`)
    expect(await endUnusedPathsWhenDue(contextOf())).toBe(3600)
    expect(listed()).toEqual([])
    expect(await listPathGrants(db, { days: 30, all: false })).toEqual([])
    expect(await types()).toEqual(['policy.learned', 'policy.granted', 'policy.revoked', 'policy.forgotten'])
  })

  test('is due when the first entry is, not an hour later', async () => {
    await learn('coverage')
    await ageBy(30)
    await db.query(sql`update learned_path set last_seen_at = last_seen_at + make_interval(secs => 60)`)
    const seconds = await endUnusedPathsWhenDue(contextOf())
    expect(seconds).toBeGreaterThan(50)
    expect(seconds).toBeLessThanOrEqual(60)
    expect(await types()).toEqual(['policy.learned'])
    await ageBy(30)
    await endUnusedPathsWhenDue(contextOf())
    expect(await types()).toEqual(['policy.learned', 'policy.forgotten'])
  })
})
