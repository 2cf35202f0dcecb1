/**
 * `UNSTUCK_LOG`: the level of engine.log, for all rooms or for single ones: `debug`, or `info,git=debug,store=trace`.
 * A room is the part of the engine that a line is about. It is no key of the configuration, because the log is opened first.
 */
import { AppError } from '../errors.ts'
import { valueText } from '../validation.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error'] as const
export const logRooms = ['engine', 'git', 'process', 'store'] as const

export type LogLevel = (typeof logLevels)[number]
export type LogRoom = (typeof logRooms)[number]

const isOneOf = <T extends string>(all: readonly T[], word: string): word is T =>
  (all as readonly string[]).includes(word)

const invalid = (what: string, word: string, allowed: readonly string[]): AppError =>
  new AppError(
    'CONFIG_INVALID',
    `environment variable UNSTUCK_LOG: the ${what} is ${valueText(word)}; allowed: ${allowed.join(', ')}. Example: UNSTUCK_LOG=info,git=debug`,
  )

const levelOf = (word: string): LogLevel => {
  if (!isOneOf(logLevels, word)) throw invalid('level', word, logLevels)
  return word
}

const roomOf = (word: string): LogRoom => {
  if (!isOneOf(logRooms, word)) throw invalid('room', word, logRooms)
  return word
}

/** Throws CONFIG_INVALID with the variable, the wrong word and the valid ones. */
export const readLogLevels = (environment: Readonly<Record<string, string | undefined>>): Record<LogRoom, LogLevel> => {
  const words = (environment.UNSTUCK_LOG ?? '').split(',').map((word) => word.trim().toLowerCase())
  const given = words.filter((word) => word !== '').map((word) => word.split('=').map((part) => part.trim()))
  const common = given.filter((parts) => parts.length === 1).map(([level = '']) => levelOf(level))
  const levels = Object.fromEntries(logRooms.map((room) => [room, common.at(-1) ?? 'info'])) as Record<
    LogRoom,
    LogLevel
  >
  for (const [room = '', ...level] of given) if (level.length > 0) levels[roomOf(room)] = levelOf(level.join('='))
  return levels
}
