/** The conformance suite on the embedded store, and what only the embedded one has: racing first migrations, its end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { livenessOf, type ProcessIdentity } from '../../src/platform/process.ts'
import { sql } from '../../src/store/db.ts'
import { migrate, migrations } from '../../src/store/migrate.ts'
import { openPglite, type PgliteDb } from '../../src/store/pglite.ts'
import { loadTemplate } from '../../src/store/template.ts'
import { exerciseMigration } from './exercise-migration.ts'
import { exerciseDue } from './exercise-due.ts'
import { exerciseGrants } from './exercise-grants.ts'
import { exerciseStore } from './exercise.ts'

const open = async () => openPglite({ dataDir: null, template: await loadTemplate(inject('storeCache')) })

const emptySchema = 'drop schema public cascade; create schema public'

describe('PGlite', () => exerciseStore(open))
describe('granted and learned paths on PGlite', () => exerciseGrants(open))

describe('what is due on PGlite', () => exerciseDue(open))
describe('an older store on PGlite', () =>
  exerciseMigration(async () => {
    const db = await open()
    await db.script(emptySchema)
    return [db]
  }))

describe('the embedded store', () => {
  const opened = open()
  afterAll(async () => (await opened).close())

  it('twenty racing first migrations of one empty schema make it once', async () => {
    const db = await opened
    await db.script(emptySchema)
    await Promise.all(Array.from({ length: 20 }, () => migrate(db)))
    expect(await db.query(sql`select number from migration`)).toHaveLength(migrations.length)
    expect(await db.query(sql`select * from goal`)).toEqual([])
  })

  it('a request after the end fails instead of waiting for ever', async () => {
    const db = await open()
    await db.close()
    await expect(db.query(sql`select 1`)).rejects.toThrow('closed')
  })
})

describe('the process of the embedded store', () => {
  const dataDir = join(mkdtempSync(join(tmpdir(), 'unstuck-pglite-')), 'store')
  afterAll(() => rmSync(dirname(dataDir), { recursive: true, force: true }))
  const processOf = (): ProcessIdentity => JSON.parse(readFileSync(`${dataDir}.process`, 'utf8')) as ProcessIdentity
  const openThere = async (): Promise<PgliteDb> =>
    openPglite({ dataDir, template: existsSync(dataDir) ? null : await loadTemplate(inject('storeCache')) })

  it('may die in the middle of a transaction: that fails, nothing of it stays, and the next is answered by another', async () => {
    const db = await openThere()
    await db.script('create table note (text text primary key)')
    await db.query(sql`insert into note values ('before')`)
    const broken = db.transaction(async (tx) => {
      await tx.query(sql`insert into note values ('inside')`)
      process.kill(processOf().pid, 'SIGKILL')
      await tx.query(sql`select pg_sleep(10)`)
    })
    await expect(broken).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await db.query(sql`select text from note`)).toEqual([{ text: 'before' }])
    await db.close()
    expect(existsSync(`${dataDir}.process`)).toBe(false)
  })

  it('of an engine that was killed is ended before another begins in the same folder', async () => {
    const holder = spawn(
      process.execPath,
      [fileURLToPath(new URL('../support/pglite-holder.ts', import.meta.url)), dataDir],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    await once(holder.stdout, 'data')
    const left = processOf()
    holder.kill('SIGKILL')
    const db = await openThere()
    expect(livenessOf(left)).toBe('dead')
    expect(await db.query(sql`select text from note`)).toEqual([{ text: 'before' }])
    await db.close()
  })
})
