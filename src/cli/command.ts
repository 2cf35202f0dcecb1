/**
 * What a file of commands/ is made of. It declares one command and imports at its top only what main has loaded anyway;
 * its work is imported when it runs, so that help and a mistyped option cost next to nothing.
 */
import { InvalidArgumentError, type Command } from 'commander'
import type { Io } from './io.ts'

export type Action = (io: Io) => Promise<number>

/** Declares a command on the program. The action is handed to `act`, because main turns its outcome into an exit code. */
export type Register = (program: Command, act: (action: Action) => void) => void

export interface JsonOption {
  json?: boolean
}

export const json = ['--json', 'as JSON'] as const

export interface DatabaseOption {
  databaseUrl?: string
}

export const database = [
  '--database-url <url>',
  'PostgreSQL for the store (better: UNSTUCK_DATABASE_URL, which no process list shows)',
] as const

/**
 * From here on the URL travels in the environment alone: it holds a password, and arguments are for everybody to read. The
 * process's own are overwritten as well, where the system allows it.
 */
export const withDatabase = (io: Io, { databaseUrl }: DatabaseOption): Io => {
  if (databaseUrl === undefined) return io
  process.title = 'unstuck'
  return { ...io, environment: { ...io.environment, UNSTUCK_DATABASE_URL: databaseUrl } }
}

/** Values of options as the command line takes them; what does not fit is reported by the parser, with the option's name. */
export const positive = (text: string): number => {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError('give a number above 0')
  return value
}

export const exitStatus = (text: string): number => {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 255) throw new InvalidArgumentError('give an exit status from 0 to 255')
  return Number(text)
}

export const collect = (value: string, before: string[] | boolean = []): string[] => [
  ...(typeof before === 'boolean' ? [] : before),
  value,
]
