/** Where the program of a harness is on this machine. */
import { constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import type { Files } from '../core/files.ts'

const isProgram = (files: Files, path: string): boolean => {
  try {
    files.accessSync(path, constants.X_OK)
    return files.statSync(path).isFile()
  } catch {
    return false // not there, or not for this user
  }
}

/**
 * The program of an argv as found on PATH, or as given when it is a path (a relative one is taken from the workspace, which
 * is not there yet); undefined = not installed.
 */
export const findProgram = (files: Files, program: string, path: string | undefined): string | undefined => {
  if (isAbsolute(program)) return isProgram(files, program) ? program : undefined
  if (program.includes('/')) return program
  return (path ?? '')
    .split(delimiter)
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, program))
    .find((candidate) => isProgram(files, candidate))
}
