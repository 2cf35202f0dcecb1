/** The work of `unstuck stop`: asks the engine to end and waits until it has let go of the store. */
import { AppError, exitCodes } from '../../errors.ts'
import { repositoryName } from '../../workspace/remote.ts'
import { line, type Io } from '../io.ts'
import type { Client } from './client.ts'
import { awaitEngineEnd, engineIdentity, findEngine } from './connect.ts'
import { placeOf } from './place.ts'

/** Waits as long as the runs take; a signal meanwhile is the wish to stop at once. */
const drained = async (io: Io, client: Client, identity: ReturnType<typeof engineIdentity>): Promise<void> => {
  const { running } = await client.post<{ running: number }>('/drain')
  line(
    io,
    `The engine takes no new work; ${running} run(s) go on to their end. Ctrl-C or "unstuck stop" stops it at once.`,
  )
  while (!io.signal.aborted && !(await awaitEngineEnd(identity, 500)));
  if (io.signal.aborted) await client.post('/shutdown').catch(() => undefined) // it may just have ended
}

export const stop = async (io: Io, drain: boolean): Promise<number> => {
  const place = await placeOf(io)
  const client = await findEngine(place)
  if (client === undefined) {
    line(io, `No engine runs for ${repositoryName(place.repository)}.`)
    return exitCodes.ok
  }
  const identity = engineIdentity(place)
  if (drain) await drained(io, client, identity)
  else await client.post('/shutdown')
  // Until it has let go of the store another one could not start.
  if (!(await awaitEngineEnd(identity)))
    throw new AppError(
      'ENGINE_UNAVAILABLE',
      `the engine (pid ${identity?.pid}) was asked to stop and still runs; see engine.log in ${place.stateDir}`,
    )
  line(
    io,
    drain && !io.signal.aborted
      ? 'The engine has stopped; nothing is at work.'
      : 'The engine has stopped. Agents that are at work end by themselves unless it is started again soon.',
  )
  return exitCodes.ok
}
