/** The work of `unstuck stop`: shuts the engine down and waits until it has released the store. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { unstuckHome } from '../../api/state-dir.ts'
import { AppError, exitCodes } from '../../errors.ts'
import { serverOf } from '../../store/server/embedded-server.ts'
import { repositoryName } from '../../workspace/remote.ts'
import { printLine, type Io } from '../io.ts'
import { countText } from '../times.ts'
import type { Client } from './client.ts'
import { awaitEngineEnd, dropDeadAddress, engineAt, engineIdentity, findEngine, hasAddress } from './connect.ts'
import { homeOf } from './home.ts'
import { hasStarter, stopStarters } from './starter.ts'

/** Waits until the current runs have ended. Ctrl-C during the wait stops the engine at once. */
const drained = async (io: Io, client: Client, identity: ReturnType<typeof engineIdentity>): Promise<void> => {
  const { running } = await client.post<{ running: number }>('/drain')
  printLine(
    io,
    `The engine starts no new runs and waits for ${countText(running, 'run')} to end. To stop it at once: Ctrl-C, or "unstuck stop".`,
  )
  while (!io.signal.aborted && !(await awaitEngineEnd(identity, 500)));
  if (io.signal.aborted) await client.post('/shutdown').catch(() => undefined) // the engine may have ended already
}

export interface StopOptions {
  drain?: boolean
  all?: boolean
}

const awaitEnd = async (stateDir: string, identity: ReturnType<typeof engineIdentity>): Promise<void> => {
  // Another engine cannot start until this one has released the store.
  if (!(await awaitEngineEnd(identity, endDeadlineMs)))
    throw new AppError(
      'ENGINE_UNAVAILABLE',
      `the engine (pid ${identity?.pid}) was told to stop and is still running; see engine.log in ${stateDir}`,
    )
}

/** Longer than an engine may be blocked before what started it kills it. */
const endDeadlineMs = 90_000

/** Ends what would start the engine again after a crash, or is starting it. True = there was such a process. */
const endStarters = async (stateDir: string): Promise<boolean> => {
  const starters = stopStarters(stateDir)
  for (const starter of starters) await awaitEnd(stateDir, starter)
  dropDeadAddress(stateDir)
  return starters.length > 0
}

/** Stops the engines one after another, then the server, so that no engine starts the server again. */
const stopAll = async (io: Io): Promise<number> => {
  const home = unstuckHome(io.environment)
  const names = existsSync(home) ? readdirSync(home) : []
  let stopped = 0
  for (const stateDir of names.map((name) => join(home, name)).filter((dir) => hasAddress(dir) || hasStarter(dir))) {
    const identity = engineIdentity(stateDir)
    const engine = await engineAt(stateDir)
    if (engine !== undefined) {
      await engine.client.post('/shutdown')
      await awaitEnd(stateDir, identity)
    }
    const wasStarting = await endStarters(stateDir)
    if (engine === undefined && !wasStarting) continue
    printLine(io, `The engine of ${engine?.root ?? stateDir} has stopped.`)
    stopped += 1
  }
  const hadServer = await serverOf({ home, environment: io.environment }).stop()
  printLine(
    io,
    stopped === 0 ? 'No engine is running.' : 'Running agents end on their own unless an engine starts again soon.',
  )
  if (hadServer) printLine(io, 'The embedded PostgreSQL has stopped.')
  return exitCodes.ok
}

const stoppedText = 'The engine has stopped. Running agents end on their own unless an engine starts again soon.'

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
  const identity = engineIdentity(home.stateDir)
  if (drain) await drained(io, client, identity)
  else await client.post('/shutdown')
  await awaitEnd(home.stateDir, identity)
  await endStarters(home.stateDir)
  printLine(io, drain && !io.signal.aborted ? 'The engine has stopped, and no run is in progress.' : stoppedText)
  return exitCodes.ok
}
