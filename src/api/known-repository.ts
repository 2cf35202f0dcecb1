/**
 * Which repository a state folder belongs to. The name of the folder holds only a hash of the path, so its engine records the path in it;
 * without the record, a command that reads all state folders could not tell where the work is.
 */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { readRegularTextSync } from '../platform/regular-file.ts'
import { hadStore } from '../store/store-markers.ts'
import type { Repository } from '../workspace/repository-types.ts'
import { replaceStateFile, unstuckHome } from './state-dir.ts'

const recordName = 'listed.json'

const record = z.object({
  root: z.string(),
  /** The repository is given by URL; `root` is its mirror. */
  url: z.string().optional(),
  /** A person took it off the list. The next start of an engine puts it back. */
  forgotten: z.boolean().optional(),
})
export type RepositoryRecord = z.infer<typeof record>

/** Undefined = there is none, or it is damaged; the next start of an engine writes it anew. */
export const recordIn = (stateDir: string): RepositoryRecord | undefined => {
  try {
    return record.safeParse(JSON.parse(readRegularTextSync(join(stateDir, recordName)))).data
  } catch {
    return undefined
  }
}

export const recordRepository = (stateDir: string, { root, url }: Pick<Repository, 'root' | 'url'>): void => {
  const known = recordIn(stateDir)
  if (known?.root === root && known.url === url && known.forgotten !== true) return
  replaceStateFile(stateDir, recordName, JSON.stringify({ root, url }))
}

export const forgetRepository = (stateDir: string): void =>
  replaceStateFile(stateDir, recordName, JSON.stringify({ ...(recordIn(stateDir) ?? { root: '' }), forgotten: true }))

/** `<name>-<12 hex>`, and six more where a path was used again. */
const idForm = /-[0-9a-f]{12}(-[0-9a-f]{6})?$/

/** The name at the start of an id. */
export const nameInId = (id: string): string => id.replace(idForm, '')

const isOfRepository = (stateDir: string): boolean => {
  try {
    readdirSync(stateDir)
  } catch {
    // It belongs to another user: one that cannot be read must not be left out.
    return true
  }
  // A start that failed at its first step leaves a folder without either.
  return existsSync(join(stateDir, recordName)) || hadStore(stateDir)
}

/** All state folders of this user in which work was started, except those that were forgotten. */
export const listStateDirs = (environment: Record<string, string | undefined>): string[] => {
  const home = unstuckHome(environment)
  return (existsSync(home) ? readdirSync(home) : [])
    .filter((name) => idForm.test(name))
    .map((name) => join(home, name))
    .filter((dir) => statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true && isOfRepository(dir))
    .filter((dir) => recordIn(dir)?.forgotten !== true)
    .toSorted()
}
