/** Prints an error and returns its exit code. Every message names the thing and the next step. */
import { CommanderError } from 'commander'
import { AppError, errorTable, exitCodes, messageOf } from '../errors.ts'
import { jsonError, type Io } from './io.ts'
import { unstuckHome } from '../api/state-dir.ts'
import { isDiskFull } from '../platform/disk-reserve.ts'
import { isFullDisk } from '../platform/write-fault.ts'
import { safe } from './render.ts'

export const exitOfError = (error: unknown, io: Io): number => {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitCodes.ok
    jsonError(io, 'USAGE', error.message.replace(/^error: /, ''))
    return exitCodes.usage
  }
  if (error instanceof AppError) {
    // Messages quote file contents and names, which may contain terminal sequences.
    io.error(`unstuck: ${error.message.split('\n').map(safe).join('\n')}\n`)
    jsonError(io, error.code, error.message)
    return errorTable[error.code].exit
  }
  const { code, path, syscall } = error as NodeJS.ErrnoException
  if (isFullDisk(error)) {
    const home = unstuckHome(io.environment)
    const place = path ?? (isDiskFull(home) ? home : undefined)
    const disk = place === undefined ? 'a disk' : `the disk of ${place}`
    const message = `${disk} is full; free some space on it, then try again (${messageOf(error)})`
    io.error(`unstuck: ${safe(message)}\n`)
    jsonError(io, 'ENGINE_UNAVAILABLE', message)
    return exitCodes.unavailable
  }
  if (code !== undefined && path !== undefined) {
    const message = `cannot access ${path} (${code} at ${syscall}); allow this user to read and write there, then try again`
    io.error(`unstuck: ${safe(message)}\n`)
    jsonError(io, code, message)
    return exitCodes.failed
  }
  io.error(
    `unstuck: unexpected error, please report it: ${error instanceof Error ? (error.stack ?? messageOf(error)) : String(error)}\n`,
  )
  jsonError(io, 'INTERNAL', messageOf(error))
  return exitCodes.failed
}
