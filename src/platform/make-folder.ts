/**
 * Creates a folder and its missing parents one by one. Node's own `recursive` option never returns where the system answers ENOENT
 * although the parent exists, as below /proc.
 */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined

const missingAt = (path: string): string[] => {
  const missing: string[] = []
  for (let at = path; !exists(at) && at !== dirname(at); at = dirname(at)) missing.unshift(at)
  return missing
}

/** Returns the folders that it created, topmost first. Throws the system's error, which names the path. */
export const makeFolder = (path: string, mode = 0o777): string[] =>
  missingAt(path).filter((folder) => {
    try {
      mkdirSync(folder, { mode })
      return true
    } catch (error) {
      // Another process may have been faster.
      if ((error as NodeJS.ErrnoException).code === 'EEXIST' && exists(folder)) return false
      throw error
    }
  })
