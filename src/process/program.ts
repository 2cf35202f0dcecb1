/** Resolves the program of a command line as the operating system would. */
import { accessSync, closeSync, constants, existsSync, readSync, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { openRegularSync } from '../platform/regular-file.ts'
import { commandWithMark } from '../platform/mark.ts'

export interface ProgramContext {
  cwd: string
  environment: Readonly<Record<string, string | undefined>>
}

export const hasAccess = (path: string, mode: number): boolean => {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

export const isProgramFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Existing files that the program's name can refer to, in the order of the PATH. */
export const filesOfProgram = (program: string, { cwd, environment }: ProgramContext): string[] => {
  const places = program.includes('/')
    ? [isAbsolute(program) ? program : join(cwd, program)]
    : (environment.PATH ?? '').split(delimiter).map((folder) => join(folder, program))
  return places.filter((path) => existsSync(path))
}

/** The kernel reads no more than this of a script's first line. */
const firstLineBytes = 256

/** False only for a script whose first line names an interpreter that does not exist. */
const hasInterpreter = (path: string): boolean => {
  try {
    const file = openRegularSync(path)
    const bytes = Buffer.alloc(firstLineBytes)
    const read = readSync(file, bytes)
    closeSync(file)
    const interpreter = /^#![ \t]*(\S+)/.exec(bytes.toString('latin1', 0, read))?.[1]
    return interpreter === undefined || existsSync(interpreter)
  } catch {
    return true // an executable without read permission cannot be a script
  }
}

/** A program that cannot be started is launched without the shell, because the system's error says more than a shell's exit status. */
const canStart = (program: string, place: ProgramContext): boolean =>
  isProgramFolder(place.cwd) &&
  filesOfProgram(program, place).some(
    (path) => !isProgramFolder(path) && hasAccess(path, constants.X_OK) && hasInterpreter(path),
  )

/** The command line that starts the program with this mark (platform/mark.ts). */
export const withMark = (argv: readonly string[], mark: string, place: ProgramContext): string[] =>
  canStart(argv[0] ?? '', place) ? commandWithMark(argv, mark, Object.keys(place.environment)) : [...argv]
