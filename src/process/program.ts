/** Where a program is that is to be started, as the system will look for it. */
import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { marked } from '../platform/mark.ts'

export interface ProgramPlace {
  cwd: string
  environment: Readonly<Record<string, string | undefined>>
}

export const canReach = (path: string, mode: number): boolean => {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

export const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Every file that its name may mean, in order. */
export const filesOfProgram = (program: string, { cwd, environment }: ProgramPlace): string[] => {
  const places = program.includes('/')
    ? [isAbsolute(program) ? program : join(cwd, program)]
    : (environment.PATH ?? '').split(delimiter).map((folder) => join(folder, program))
  return places.filter((path) => existsSync(path))
}

/** Where the system stops reading. */
const firstLineBytes = 256

/** Whether a script's first line names an interpreter that is there; of anything else, yes. */
const hasInterpreter = (path: string): boolean => {
  try {
    const file = openSync(path, 'r')
    const bytes = Buffer.alloc(firstLineBytes)
    const read = readSync(file, bytes)
    closeSync(file)
    const interpreter = /^#![ \t]*(\S+)/.exec(bytes.toString('latin1', 0, read))?.[1]
    return interpreter === undefined || existsSync(interpreter)
  } catch {
    return true // a program that may be run and not read is no script
  }
}

/** What cannot be started is left to the system, whose refusal says more than a shell's exit status. */
const canStart = (program: string, place: ProgramPlace): boolean =>
  isFolder(place.cwd) &&
  filesOfProgram(program, place).some(
    (path) => !isFolder(path) && canReach(path, constants.X_OK) && hasInterpreter(path),
  )

/** The command line under which the program carries that mark (platform/mark.ts). */
export const withMark = (argv: readonly string[], mark: string, place: ProgramPlace): string[] =>
  canStart(argv[0] ?? '', place) ? marked(argv, mark, Object.keys(place.environment)) : [...argv]
