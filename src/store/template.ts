/**
 * The template: a dump of a migrated, empty store. initdb costs seconds, loading the dump one. A published package brings
 * it (built by prepack); a checkout builds it on first use into a cache named after the migrations' hash, so a changed
 * migration can never meet an old template.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { migrate, migrations } from './migrate.ts'
import { openPglite } from './pglite.ts'

export const templateName = (): string =>
  `store-template-${createHash('sha256').update(migrations.join('\n')).digest('hex').slice(0, 16)}.tar.gz`

/** Beside the compiled code: where prepack puts it. */
const shipped = (): string => join(dirname(fileURLToPath(import.meta.url)), templateName())

export const buildTemplate = async (path: string): Promise<void> => {
  const db = await openPglite({ dataDir: null })
  await migrate(db)
  const dump = await db.dump()
  await db.close()
  mkdirSync(dirname(path), { recursive: true })
  // Atomic: two first starts at once must not read each other's half.
  writeFileSync(`${path}.${process.pid}`, dump)
  renameSync(`${path}.${process.pid}`, path)
}

/** The dump to load into a new store, building it in `cacheDir` when neither the package nor the cache has it. */
export const loadTemplate = async (cacheDir: string): Promise<Uint8Array> => {
  const cached = join(cacheDir, templateName())
  const path = [shipped(), cached].find(existsSync)
  if (path !== undefined) return readFileSync(path)
  await buildTemplate(cached)
  return readFileSync(cached)
}
