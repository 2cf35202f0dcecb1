/** What a person reads of an error, and the exit code that it becomes: every message names the thing and the next step. */
import { CommanderError } from 'commander'
import { AppError, errorTable, exitCodes, messageOf } from '../errors.ts'
import type { Io } from './io.ts'
import { safe } from './render.ts'

export const exitOfError = (error: unknown, io: Io): number => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
  if (error instanceof AppError) {
    // Messages quote files and names, which may hold anything.
    io.error(`unstuck: ${error.message.split('\n').map(safe).join('\n')}\n`)
    return errorTable[error.code].exit
  }
  const { code, path, syscall } = error as NodeJS.ErrnoException
  if (code !== undefined && path !== undefined) {
    io.error(
      `unstuck: ${safe(path)} cannot be used (${code} at ${syscall}); let this user read and write there, then try again\n`,
    )
    return exitCodes.failed
  }
  io.error(
    `unstuck: unexpected error, please report it: ${error instanceof Error ? (error.stack ?? messageOf(error)) : String(error)}\n`,
  )
  return exitCodes.failed
}
