/** The conformance suite on the embedded store, and what only the embedded one has: racing first migrations, its end. */
import { afterAll, describe, expect, inject, it } from 'vitest'
import { sql } from '../../src/store/db.ts'
import { migrate, migrations } from '../../src/store/migrate.ts'
import { openPglite } from '../../src/store/pglite.ts'
import { loadTemplate } from '../../src/store/template.ts'
import { exerciseMigration } from './exercise-migration.ts'
import { exerciseStore } from './exercise.ts'

const open = async () => openPglite({ dataDir: null, template: await loadTemplate(inject('storeCache')) })

const emptySchema = 'drop schema public cascade; create schema public'

describe('PGlite', () => exerciseStore(open))
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
