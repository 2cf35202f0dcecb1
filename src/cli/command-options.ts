/**
 * The building blocks of a file in commands/. Such a file declares one command and imports at its top only what main has
 * already loaded; the command's work is imported when it runs, so that help and errors in options stay fast.
 */
import { InvalidArgumentError, type Command } from 'commander'
import type { Io } from './io.ts'

export type CommandAction = (io: Io) => Promise<number>

/** Declares a command on the program. It passes its action to `act`, because main turns the result into an exit code. */
export type Register = (program: Command, act: (action: CommandAction) => void) => void

export interface JsonOption {
  json?: boolean
}

export const jsonOption = ['--json', 'print JSON'] as const

export interface DatabaseOption {
  databaseUrl?: string
}

export const databaseOption = [
  '--database-url <url>',
  'PostgreSQL database for the store (safer: UNSTUCK_DATABASE_URL, which process lists do not show)',
] as const

/**
 * Moves the URL to the environment: it may contain a password, and every user can read the arguments of a process. Setting
 * the title also overwrites this process's own arguments, where the system allows that.
 */
export const withDatabase = (io: Io, { databaseUrl }: DatabaseOption): Io => {
  if (databaseUrl === undefined) return io
  process.title = 'unstuck'
  return { ...io, environment: { ...io.environment, UNSTUCK_DATABASE_URL: databaseUrl } }
}

/** Parses an option's value. The parser of the command line reports an error with the name of the option. */
export const positiveNumber = (text: string): number => {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError('Give a number above 0.')
  return value
}

export const exitStatus = (text: string): number => {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 255)
    throw new InvalidArgumentError('Give an exit status from 0 to 255.')
  return Number(text)
}

export const collectValues = (value: string, before: string[] | boolean = []): string[] => [
  ...(typeof before === 'boolean' ? [] : before),
  value,
]
