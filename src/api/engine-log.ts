/** engine.log: one JSON object per line, with a level for each room (`UNSTUCK_LOG`) and without secrets. */
import { join } from 'node:path'
import { pino, type Logger as PinoLogger } from 'pino'
import { logRooms, readLogLevels, type LogRoom } from '../config/log-levels.ts'
import { gitDiagnostics, processDiagnostics, type Diagnostic } from '../platform/diagnostics.ts'
import { redactText } from '../process/redact.ts'
import type { Logger } from '../runtime/core/context.ts'
import { writingIn } from './state-dir.ts'

type Environment = Record<string, string | undefined>

export type EngineLog = Record<LogRoom, PinoLogger>

/** Throws CONFIG_INVALID for a level or a room that does not exist. */
export const openRooms = (stateDir: string, environment: Environment): EngineLog => {
  const levels = readLogLevels(environment)
  const file = writingIn(stateDir, () =>
    pino.destination({ dest: join(stateDir, 'engine.log'), sync: true, mkdir: true }),
  )
  // On a full disk a line is lost; without a listener the error would end the engine.
  file.on('error', () => undefined)
  // The environment is read for each line: a person may give credentials while the engine runs.
  const hooks = { streamWrite: (line: string) => redactText(line, environment) }
  const engine = pino({ base: { pid: process.pid }, level: levels.engine, hooks }, file)
  const rooms = logRooms.map((room) => [
    room,
    room === 'engine' ? engine : engine.child({ room }, { level: levels[room] }),
  ])
  return Object.fromEntries(rooms) as EngineLog
}

export const openLog = (stateDir: string, environment: Environment): Logger => openRooms(stateDir, environment).engine

/** Writes what git and the programs of this process do, until the signal aborts. Call it once per process, or lines come twice. */
export const followDiagnostics = (log: EngineLog, stopping: AbortSignal): void => {
  for (const [room, source] of [
    ['git', gitDiagnostics],
    ['process', processDiagnostics],
  ] as const) {
    if (!log[room].isLevelEnabled('debug')) continue
    const write = (published: unknown): void => {
      const { fields, message } = published as Diagnostic
      log[room].debug(fields, message)
    }
    source.subscribe(write)
    stopping.addEventListener('abort', () => source.unsubscribe(write), { once: true })
  }
}
