/**
 * Makes a folder and those above it that are missing, one after the other. Node's own `recursive` never comes back where
 * the system takes no folder and says ENOENT, as below /proc.
 */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined

const missingAt = (path: string): string[] => {
  const missing: string[] = []
  for (let at = path; !exists(at) && at !== dirname(at); at = dirname(at)) missing.unshift(at)
  return missing
}

/** Returns the folders that it made, the topmost first. Throws the error of the system, which names the path. */
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
