import { expect, test } from 'vitest'
import { AppError } from '../errors.ts'
import { loadConfig } from './config.ts'
import { logLevels, logRooms, readLogLevels } from './log-levels.ts'

const levels = (text: string | undefined) => readLogLevels({ UNSTUCK_LOG: text })

const problemOf = (text: string): AppError => {
  try {
    levels(text)
  } catch (error) {
    if (error instanceof AppError) return error
  }
  return expect.unreachable(`${text} is accepted`)
}

test('without the variable every room writes from info on', () => {
  const all = { engine: 'info', git: 'info', process: 'info', store: 'info' }
  expect(levels(undefined)).toEqual(all)
  expect(levels('')).toEqual(all)
})

test.each(logLevels)('%s is for all rooms', (level) => {
  expect(new Set(Object.values(levels(level)))).toEqual(new Set([level]))
})

test('a room has its own level, wherever it stands; the others have the common one', () => {
  const wanted = { engine: 'warn', git: 'debug', process: 'warn', store: 'trace' }
  expect(levels('warn,git=debug,store=trace')).toEqual(wanted)
  expect(levels(' git = debug , WARN, store=trace,')).toEqual(wanted)
  expect(levels('git=debug')).toEqual({ engine: 'info', git: 'debug', process: 'info', store: 'info' })
})

test.each([
  ['loud', 'loud', logLevels],
  ['info,git=loud', 'loud', logLevels],
  ['git=', '', logLevels],
  ['info,kitchen=debug', 'kitchen', logRooms],
])('%s is refused with the variable, the wrong word and the valid ones', (text, wrong, valid) => {
  const { code, message } = problemOf(text)
  expect(code).toBe('CONFIG_INVALID')
  for (const word of ['UNSTUCK_LOG', `"${wrong}"`, ...valid]) expect(message).toContain(word)
})

test('a command that reads the configuration reports it, before an engine is started', () => {
  const read = () => loadConfig({ root: '/', environment: { UNSTUCK_LOG: 'loud' }, readFile: () => undefined })
  expect(read).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
})
