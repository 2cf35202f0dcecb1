/** The work of `unstuck stop`: shuts the engine down and waits until it has released the store. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { sharedDirOf } from '../../api/shared-place.ts'
import { unstuckHome } from '../../api/state-dir.ts'
import { AppError, exitCodes } from '../../errors.ts'
import { serverOf } from '../../store/server/embedded-server.ts'
import { repositoryName } from '../../workspace/remote.ts'
import { printLine, type Io } from '../io.ts'
import { countText } from '../times.ts'
import type { Client } from './client.ts'
import {
  awaitEngineEnd,
  dropDeadAddress,
  engineAt,
  engineProcess,
  findEngine,
  hasAddress,
  type EngineProcess,
} from './connect.ts'
import { homeOf } from './home.ts'
import { hasStarter, stopStarters } from './starter.ts'

/** Waits until the current runs have ended. Ctrl-C during the wait stops the engine at once. */
const drained = async (io: Io, client: Client, engine: EngineProcess | undefined): Promise<void> => {
  const { running } = await client.post<{ running: number }>('/drain')
  printLine(
    io,
    `The engine starts no new runs and waits for ${countText(running, 'run')} to end. To stop it at once: Ctrl-C, or "unstuck stop".`,
  )
  while (!io.signal.aborted && !(await awaitEngineEnd(engine, 500)));
  if (io.signal.aborted) await client.post('/shutdown').catch(() => undefined) // the engine may have ended already
}

export interface StopOptions {
  drain?: boolean
  all?: boolean
}

const awaitEnd = async (stateDir: string, engine: EngineProcess | undefined): Promise<void> => {
  // Another engine cannot start until this one has released the store.
  if (!(await awaitEngineEnd(engine, endDeadlineMs)))
    throw new AppError(
      'ENGINE_UNAVAILABLE',
      `the engine (pid ${engine?.identity.pid}) was told to stop and is still running; see engine.log in ${stateDir}`,
    )
}

/** Longer than an engine may be blocked before what started it kills it. */
const endDeadlineMs = 90_000

/** Ends what would start the engine again after a crash, or is starting it. True = there was such a process. */
const endStarters = async (stateDir: string): Promise<boolean> => {
  const starters = stopStarters(stateDir)
  for (const starter of starters) await awaitEnd(stateDir, { identity: starter })
  dropDeadAddress(stateDir)
  return starters.length > 0
}

/** False = none was running there. */
const stopAt = async (io: Io, stateDir: string): Promise<boolean> => {
  if (!hasAddress(stateDir) && !hasStarter(stateDir)) return false
  const running = engineProcess(stateDir)
  const engine = await engineAt(stateDir)
  if (engine !== undefined) {
    await engine.client.post('/shutdown')
    await awaitEnd(stateDir, running)
  }
  const wasStarting = await endStarters(stateDir)
  if (engine === undefined && !wasStarting) return false
  printLine(io, `The engine of ${engine?.root ?? stateDir} has stopped.`)
  return true
}

/** Stops the engines one after another, the shared one first, then the server, so that no engine starts the server again. */
const stopAll = async (io: Io): Promise<number> => {
  const home = unstuckHome(io.environment)
  const names = existsSync(home) ? readdirSync(home) : []
  let stopped = 0
  for (const stateDir of new Set([sharedDirOf(io.environment), ...names.map((name) => join(home, name))]))
    if (await stopAt(io, stateDir)) stopped += 1
  const hadServer = await serverOf({ home, environment: io.environment }).stop()
  printLine(
    io,
    stopped === 0 ? 'No engine is running.' : 'Running agents end on their own unless an engine starts again soon.',
  )
  if (hadServer) printLine(io, 'The embedded PostgreSQL has stopped.')
  return exitCodes.ok
}

const stoppedText = 'The engine has stopped. Running agents end on their own unless an engine starts again soon.'

const endText = (running: EngineProcess | undefined, isDrained: boolean): string => {
  if (running?.hasLeft !== undefined)
    return `The engine of all repositories does not serve this one any more, and still serves the others. ${isDrained ? 'No run is in progress here.' : 'Agents that run here end on their own unless "unstuck run" joins it again soon.'}`
  return isDrained ? 'The engine has stopped, and no run is in progress.' : stoppedText
}

export const stopCommand = async (io: Io, { drain = false, all = false }: StopOptions): Promise<number> => {
  if (all && drain) throw new AppError('USAGE', '--drain waits for one engine; leave out --all or --drain')
  if (all) return stopAll(io)
  const home = await homeOf(io)
  const client = await findEngine(home)
  if (client === undefined) {
    const wasStarting = await endStarters(home.stateDir)
    printLine(io, wasStarting ? stoppedText : `No engine is running for ${repositoryName(home.repository)}.`)
    return exitCodes.ok
  }
  const running = engineProcess(home.stateDir)
  if (drain) await drained(io, client, running)
  else await client.post('/shutdown')
  await awaitEnd(home.stateDir, running)
  await endStarters(home.stateDir)
  printLine(io, endText(running, drain && !io.signal.aborted))
  return exitCodes.ok
}
