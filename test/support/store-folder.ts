/**
 * The folder of a migrated, empty store, made once and copied by tests that are not about a first start. Loading the dump into
 * a new folder takes the database process more than a second of CPU, a copy of the folder almost none.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../../src/store/open.ts'

const folderIn = (cache: string): string => join(cache, 'empty-store')

/** Makes the folder in the cache, from which `beginWithStore` copies. */
export const makeStoreFolder = async (cache: string): Promise<void> => {
  const folder = folderIn(cache)
  if (existsSync(folder)) return
  mkdirSync(cache, { recursive: true })
  const stateDir = mkdtempSync(join(cache, 'state-'))
  const store = await openStore({ stateDir, cacheDir: cache })
  await store.close()
  try {
    renameSync(join(stateDir, 'store'), folder)
  } catch (error) {
    // Another run made it meanwhile.
    if (!existsSync(folder)) throw error
  }
  rmSync(stateDir, { recursive: true, force: true })
}

/** An engine that starts with this state folder finds the store of an earlier start. */
export const beginWithStore = (cache: string | undefined, stateDir: string): void => {
  // Suites without the global set-up have none.
  if (cache === undefined || !existsSync(folderIn(cache))) return
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  cpSync(folderIn(cache), join(stateDir, 'store'), { recursive: true })
  writeFileSync(join(stateDir, 'store.complete'), '')
}
