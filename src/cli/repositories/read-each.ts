/**
 * Reads every repository of this user in which work was started. One that cannot be read is a problem with its next step, and the others are
 * read all the same. Starts no engine.
 */
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { listStateDirs, recordIn, type RepositoryRecord } from '../../api/known-repository.ts'
import { checkStateDir } from '../../api/state-dir.ts'
import { loadConfig } from '../../config.ts'
import { AppError, messageOf } from '../../errors.ts'
import { postgresMarkerPath } from '../../store/store-markers.ts'
import type { Client } from '../engine/client.ts'
import { engineIdentity, isResponding } from '../engine/connect.ts'
import { homeOf } from '../engine/home.ts'
import { readOnly } from '../engine/read-only.ts'
import type { Io } from '../io.ts'

export interface Problem {
  code: string
  message: string
}

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

interface Known {
  id: string
  stateDir: string
  record: RepositoryRecord | undefined
}

export const knownRepositories = (io: Io): Known[] =>
  listStateDirs(io.environment).map((stateDir) => ({ id: basename(stateDir), stateDir, record: recordIn(stateDir) }))

export const placeName = ({ id, record }: Known): string => record?.url ?? (record?.root || id)

const forgetting = ({ id }: Known): string => `take it off this list: unstuck repos forget ${id}`

const hasOwnUrl = (stateDir: string): boolean =>
  statSync(postgresMarkerPath(stateDir), { throwIfNoEntry: false }) !== undefined

/** The folder of the record, or the problem that it is not there. */
const folderOf = (known: Known): string => {
  const { record, stateDir } = known
  if (record === undefined || record.root === '')
    throw new AppError(
      'NOT_FOUND',
      `its state folder ${stateDir} does not say where the repository is; start its engine there once ("unstuck up"), or ${forgetting(known)}`,
    )
  if (record.url !== undefined) return record.root
  try {
    statSync(record.root)
    return record.root
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw new AppError(
        'DIRECTORY_MISSING',
        `its folder was moved or deleted; put it back there to continue its work, or ${forgetting(known)}`,
      )
    throw new AppError('PERMISSION', `its folder cannot be read (${messageOf(error)}); let this user read it`)
  }
}

/** The command as if it were typed in that repository. */
const ioIn = (io: Io, { record, stateDir }: Known, cwd: string): Io => {
  const { UNSTUCK_REPO_URL: _here, UNSTUCK_DATABASE_URL: database, ...environment } = io.environment
  return {
    ...{ ...io, cwd },
    environment: {
      ...environment,
      ...(record?.url === undefined ? {} : { UNSTUCK_REPO_URL: record.url }),
      // The variable of this terminal names the store of those repositories that have theirs on such a server.
      ...(database === undefined || !hasOwnUrl(stateDir) ? {} : { UNSTUCK_DATABASE_URL: database }),
    },
  }
}

/** Longer than an engine is busy, shorter than a person waits. */
const answerMs = 5_000

const requireAnswer = async ({ stateDir }: Known): Promise<void> => {
  if (await isResponding(stateDir, answerMs)) return
  throw new AppError(
    'ENGINE_UNAVAILABLE',
    `its engine (pid ${engineIdentity(stateDir)?.pid}) does not respond; one that stays blocked is restarted after a minute, so look again then, or see engine.log in ${stateDir}`,
  )
}

type ReadView<T> = (client: Client, isEngineGone: boolean) => Promise<T>

const read = async <T>(io: Io, known: Known, work: ReadView<T>): Promise<Pick<Reading<T>, 'engine' | 'view'>> => {
  checkStateDir(known.stateDir)
  const here = ioIn(io, known, folderOf(known))
  const { repository } = await homeOf(here)
  // Also refuses a record that something else wrote: it would show the work of another repository.
  if (repository.id !== known.id)
    throw new AppError(
      'REPOSITORY_STATE',
      `another repository is in its folder now; put the old one back to continue its work, or ${forgetting(known)}`,
    )
  await requireAnswer(known)
  return readOnly(here, async ({ client, live, isEngineGone }) => {
    // A running engine keeps the settings that it had before the mistake.
    if (!live) loadConfig({ root: repository.root, environment: here.environment })
    return { engine: live ? ('running' as const) : ('stopped' as const), view: await work(client, isEngineGone) }
  })
}

const problemOf = (error: unknown): Problem =>
  error instanceof AppError
    ? { code: error.code, message: error.message }
    : { code: 'INTERNAL', message: `${messageOf(error)}; "unstuck doctor" in its folder says more` }

const readingOf = async <T>(io: Io, known: Known, work: ReadView<T>): Promise<Reading<T>> => {
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
  const queue = knownRepositories(io).values()
  const readOn = async (): Promise<void> => {
    for (const each of queue) readings.push(await readingOf(io, each, work))
  }
  await Promise.all(Array.from({ length: atOnce }, readOn))
  const isBroken = ({ problem }: Reading<T>): number => (problem === null ? 0 : 1)
  return readings.toSorted(
    (one, other) => isBroken(one) - isBroken(other) || one.stateDir.localeCompare(other.stateDir, 'en'),
  )
}
