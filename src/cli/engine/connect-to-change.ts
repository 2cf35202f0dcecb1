/** Access for commands that change something in a repository in which something has been run. */
import { AppError } from '../../errors.ts'
import type { Io } from '../io.ts'
import type { Client } from './client.ts'
import { connect, findEngine, type Say } from './connect.ts'
import { homeOf, requireStore } from './home.ts'
import { refuseRuns } from '../person-here.ts'
import { readOnly } from './read-only.ts'
import { defined } from '../../domain/defined.ts'

/** The resource that a change is about: `/goals/g-1` of `/goals/g-1/land`. */
const subjectOf = (path: string): string | undefined => /^\/(?:goals|tasks|runs)\/[^/?]+/.exec(path)?.[0]

/** Reads without an engine, and starts one for the first change, unless that is about something that does not exist. */
const startingForChanges = (io: Io, say: Say | undefined): Client => {
  let started: Promise<Client> | undefined
  const start = (): Promise<Client> =>
    (started ??= connect(io, { start: true, ...defined({ say }) }).then(({ client }) => client))
  const read = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    if (started !== undefined) return work(await started)
    try {
      return await readOnly(io, ({ client }) => work(client))
    } catch (error) {
      // An engine updates the store of an older version.
      if (!(error instanceof AppError) || error.code !== 'STORE_VERSION') throw error
      return work(await start())
    }
  }
  const change = async <T>(path: string, work: (client: Client) => Promise<T>): Promise<T> => {
    const subject = subjectOf(path)
    if (started === undefined && subject !== undefined) await read((client) => client.get(subject))
    return work(await start())
  }
  return {
    get: (path) => read((client) => client.get(path)),
    all: (path) => read((client) => client.all(path)),
    events: async function* (path, after, signal) {
      yield* (await start()).events(path, after, signal)
    },
    post: (path, body) => change(path, (client) => client.post(path, body)),
    patch: (path, body) => change(path, (client) => client.patch(path, body)),
  }
}

/**
 * Connects to the engine. Without one, the store is read until the command changes something, so that a mistake in an id starts
 * no engine. Throws if nothing has been run here yet.
 */
export const connectToExisting = async (io: Io, say?: Say): Promise<Client> => {
  const home = await homeOf(io)
  requireStore(home)
  if ((await findEngine(home)) !== undefined) return (await connect(io, { start: true })).client
  await refuseRuns(io, 'starting an engine')
  return startingForChanges(io, say)
}
