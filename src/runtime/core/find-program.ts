/** Finds programs of harnesses and checks on this machine. */
import { constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import type { Files } from './files.ts'

const isProgram = (files: Files, path: string): boolean => {
  try {
    files.accessSync(path, constants.X_OK)
    return files.statSync(path).isFile()
  } catch {
    return false // missing, or not executable for this user
  }
}

/**
 * Absolute path of the program, searched on PATH; undefined = not installed. A relative path is returned unchanged, because it is
 * relative to the workspace, which does not exist yet.
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

/** Whether a program can be started with this PATH. */
export type HasProgram = (program: string) => boolean

export const programsOn =
  (files: Files, path: string | undefined): HasProgram =>
  (program) =>
    findProgram(files, program, path) !== undefined
