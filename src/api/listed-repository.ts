/** A repository on the list of this user: where it is, how a program works in it, and why it cannot be used now. */
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { AppError, messageOf } from '../errors.ts'
import { postgresMarkerPath } from '../store/store-markers.ts'
import { remoteFromEnvironment } from '../workspace/remote-url.ts'
import { listStateDirs, recordIn, type RepositoryRecord } from './known-repository.ts'
import { openRepositoryHere } from './repository-place.ts'
import { checkStateDir } from './state-dir.ts'
import { defined } from '../domain/defined.ts'

type Environment = Record<string, string | undefined>

export interface Listed {
  id: string
  stateDir: string
  record: RepositoryRecord | undefined
}

export const listedAt = (stateDir: string): Listed => ({
  id: basename(stateDir),
  stateDir,
  record: recordIn(stateDir),
})

export const listedRepositories = (environment: Environment): Listed[] => listStateDirs(environment).map(listedAt)

/** Its folder or URL; its id where even that is unknown. */
export const placeName = ({ id, record }: Listed): string => record?.url ?? (record?.root || id)

const forgetting = ({ id }: Listed): string => `take it off this list: unstuck repos forget ${id}`

const hasOwnUrl = (stateDir: string): boolean =>
  statSync(postgresMarkerPath(stateDir), { throwIfNoEntry: false }) !== undefined

/** The folder of the record. Throws where it is not there or cannot be read. */
const folderOf = (listed: Listed): string => {
  const { record, stateDir } = listed
  if (record === undefined || record.root === '')
    throw new AppError(
      'NOT_FOUND',
      `its state folder ${stateDir} does not say where the repository is; start its engine there once ("unstuck up"), or ${forgetting(listed)}`,
    )
  if (record.url !== undefined) return record.root
  try {
    statSync(record.root)
    return record.root
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw new AppError(
        'DIRECTORY_MISSING',
        `its folder was moved or deleted; put it back there to continue its work, or ${forgetting(listed)}`,
      )
    throw new AppError('PERMISSION', `its folder cannot be read (${messageOf(error)}); let this user read it`)
  }
}

/** The environment as if a command were typed in that repository. */
const environmentIn = (environment: Environment, { record, stateDir }: Listed): Environment => {
  const { UNSTUCK_REPO_URL: _here, UNSTUCK_DATABASE_URL: database, ...rest } = environment
  return {
    ...rest,
    ...defined({ UNSTUCK_REPO_URL: record?.url }),
    // The variable of this terminal names the store of those repositories that have theirs on such a server.
    ...(database === undefined || !hasOwnUrl(stateDir) ? {} : { UNSTUCK_DATABASE_URL: database }),
  }
}

interface Place {
  root: string
  environment: Environment
}

/** Throws where the state folder or the repository cannot be used, or where another repository is in its folder. */
export const checkedPlace = async (given: Environment, listed: Listed): Promise<Place> => {
  checkStateDir(listed.stateDir)
  const root = folderOf(listed)
  const environment = environmentIn(given, listed)
  const address = remoteFromEnvironment(environment, root)
  const id = address?.id ?? (await openRepositoryHere(environment, root)).repository.id
  // Also refuses a record that something else wrote: it would show the work of another repository.
  if (id !== listed.id)
    throw new AppError(
      'REPOSITORY_STATE',
      `another repository is in its folder now; put the old one back to continue its work, or ${forgetting(listed)}`,
    )
  return { root, environment }
}

export interface Problem {
  code: string
  message: string
}

export const problemOf = (error: unknown): Problem =>
  error instanceof AppError
    ? { code: error.code, message: error.message }
    : { code: 'INTERNAL', message: `${messageOf(error)}; "unstuck doctor" in its folder says more` }
