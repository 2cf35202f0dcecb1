/**
 * Reads every repository of this user in which work was started. One that cannot be read is a problem with its next step, and the others are
 * read all the same. Starts no engine.
 */
import {
  listedRepositories,
  placeName,
  checkedPlace,
  problemOf,
  type Listed,
  type Problem,
} from '../../api/listed-repository.ts'
import { loadConfig } from '../../config/config.ts'
import { AppError } from '../../errors.ts'
import type { Client } from '../engine/client.ts'
import { engineIdentity, isResponding } from '../engine/connect.ts'
import { readOnly } from '../engine/read-only.ts'
import type { Io } from '../io.ts'

/** Exactly one of `view` and `problem` is null. */
export interface Reading<T> {
  id: string
  /** Its folder or URL; its id where even that is unknown. */
  repository: string
  stateDir: string
  /** Null = unknown. */
  engine: 'running' | 'stopped' | null
  view: T | null
  problem: Problem | null
}

/** Longer than an engine is busy, shorter than a person waits. */
const answerMs = 5_000

const requireAnswer = async ({ stateDir }: Listed): Promise<void> => {
  if (await isResponding(stateDir, answerMs)) return
  throw new AppError(
    'ENGINE_UNAVAILABLE',
    `its engine (pid ${engineIdentity(stateDir)?.pid}) does not respond; one that stays blocked is restarted after a minute, so look again then, or see engine.log in ${stateDir}`,
  )
}

type ReadView<T> = (client: Client, isEngineGone: boolean) => Promise<T>

const read = async <T>(io: Io, known: Listed, work: ReadView<T>): Promise<Pick<Reading<T>, 'engine' | 'view'>> => {
  const { root, environment } = await checkedPlace(io.environment, known)
  const here = { ...io, cwd: root, environment }
  await requireAnswer(known)
  return readOnly(here, async ({ client, live, isEngineGone }) => {
    // A running engine keeps the settings that it had before the mistake.
    if (!live) loadConfig({ root, environment })
    return { engine: live ? ('running' as const) : ('stopped' as const), view: await work(client, isEngineGone) }
  })
}

const readingOf = async <T>(io: Io, known: Listed, work: ReadView<T>): Promise<Reading<T>> => {
  const about = { id: known.id, repository: placeName(known), stateDir: known.stateDir }
  try {
    return { ...about, ...(await read(io, known, work)), problem: null }
  } catch (error) {
    return { ...about, engine: null, view: null, problem: problemOf(error) }
  }
}

/** Each opens connections to the store. */
const atOnce = 4

/** Those that cannot be read come last. */
export const readEach = async <T>(io: Io, work: ReadView<T>): Promise<Reading<T>[]> => {
  const readings: Reading<T>[] = []
  // Until the last one is read, one of them is connected: the server of the store would stop with the last connection.
  const queue = listedRepositories(io.environment).values()
  const readOn = async (): Promise<void> => {
    for (const each of queue) readings.push(await readingOf(io, each, work))
  }
  await Promise.all(Array.from({ length: atOnce }, readOn))
  const isBroken = ({ problem }: Reading<T>): number => (problem === null ? 0 : 1)
  return readings.toSorted(
    (one, other) => isBroken(one) - isBroken(other) || one.stateDir.localeCompare(other.stateDir, 'en'),
  )
}
