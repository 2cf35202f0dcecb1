/** The work of `unstuck stop`: shuts the engine down and waits until it has released the store. */
import { AppError, exitCodes } from '../../errors.ts'
import { repositoryName } from '../../workspace/remote.ts'
import { printLine, type Io } from '../io.ts'
import { countText } from '../times.ts'
import type { Client } from './client.ts'
import { awaitEngineEnd, engineIdentity, findEngine } from './connect.ts'
import { homeOf } from './home.ts'

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

export const stopCommand = async (io: Io, drain: boolean): Promise<number> => {
  const home = await homeOf(io)
  const client = await findEngine(home)
  if (client === undefined) {
    printLine(io, `No engine is running for ${repositoryName(home.repository)}.`)
    return exitCodes.ok
  }
  const identity = engineIdentity(home)
  if (drain) await drained(io, client, identity)
  else await client.post('/shutdown')
  // Another engine cannot start until this one has released the store.
  if (!(await awaitEngineEnd(identity)))
    throw new AppError(
      'ENGINE_UNAVAILABLE',
      `the engine (pid ${identity?.pid}) was told to stop and is still running; see engine.log in ${home.stateDir}`,
    )
  printLine(
    io,
    drain && !io.signal.aborted
      ? 'The engine has stopped, and no run is in progress.'
      : 'The engine has stopped. Running agents end on their own unless an engine starts again soon.',
  )
  return exitCodes.ok
}
