/**
 * The template: a dump of a migrated, empty store. initdb takes seconds, loading the dump one second. A published
 * package contains it (built by prepack); a checkout builds it on first use in the cache, under a name with the hash
 * of the migrations, so that a changed migration never meets an old template.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { migrate, migrations } from './migrate.ts'
import { openPglite } from './pglite.ts'

export const templateName = (): string =>
  `store-template-${createHash('sha256').update(migrations.join('\n')).digest('hex').slice(0, 16)}.tar.gz`

/** Next to the compiled code, where prepack writes it. */
const shipped = (): string => join(dirname(fileURLToPath(import.meta.url)), templateName())

/** Migrates an empty in-memory store and writes its dump to `path`. */
export const buildTemplate = async (path: string): Promise<void> => {
  const db = await openPglite({ dataDir: null })
  await migrate(db)
  const dump = await db.dump()
  await db.close()
  mkdirSync(dirname(path), { recursive: true })
  // Written atomically: of two first starts at the same time, neither must read a half-written file of the other.
  writeFileSync(`${path}.${process.pid}`, dump)
  renameSync(`${path}.${process.pid}`, path)
}

/** The dump for a new store; builds it in `cacheDir` if neither the package nor the cache has it. */
export const loadTemplate = async (cacheDir: string): Promise<Uint8Array> => {
  const cached = join(cacheDir, templateName())
  const path = [shipped(), cached].find(existsSync)
  if (path !== undefined) return readFileSync(path)
  await buildTemplate(cached)
  return readFileSync(cached)
}
