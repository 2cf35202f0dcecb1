/** The repository that a command works on, and the folder with its state. The repository is the current folder, or the one that a URL names. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openRepositoryHere } from '../../api/repository-place.ts'
import { stateDirOf } from '../../api/state-dir.ts'
import { AppError } from '../../errors.ts'
import { makeFolder } from '../../platform/make-folder.ts'
import { hadStore } from '../../store/store-markers.ts'
import { goneText } from '../../runtime/core/gone-repository.ts'
import type { Repository } from '../../workspace/repository-types.ts'
import { remoteRepository, repositoryName } from '../../workspace/remote.ts'
import { remoteFromEnvironment } from '../../workspace/remote-url.ts'
import type { Io } from '../io.ts'

export interface Home {
  /** Of a linked worktree the main one. */
  repository: Repository
  /** The linked worktree in which the command was typed. */
  worktree?: Repository
  stateDir: string
}

/** By command, whose parts ask for it up to four times; each answer starts git twice. */
const homes = new WeakMap<Io, Home>()

export const homeOf = async (io: Io): Promise<Home> => {
  const address = remoteFromEnvironment(io.environment, io.cwd)
  if (address !== undefined) {
    const stateDir = stateDirOf(io.environment, address.id)
    return { repository: remoteRepository(address, stateDir), stateDir }
  }
  const known = homes.get(io)
  if (known !== undefined) return known
  const { here, repository } = await openRepositoryHere(io.environment, io.cwd)
  const home = {
    ...{ repository, stateDir: stateDirOf(io.environment, repository.id) },
    ...(repository.root === here.root ? {} : { worktree: here }),
  }
  // A repository in which nothing was committed may get its first commit while this command runs.
  if (repository.head !== null) homes.set(io, home)
  return home
}

/** Creates the folder in which the engine starts, if the repository is given by URL; otherwise it exists already. */
export const makeRoot = ({ repository }: Home): void => {
  if (repository.url !== undefined) makeFolder(repository.root, 0o700)
}

/** Throws DIRECTORY_MISSING if the repository was moved away while the command ran. */
export const requireRoot = ({ repository }: Home): void => {
  if (repository.url !== undefined || existsSync(repository.root)) return
  throw new AppError('DIRECTORY_MISSING', goneText(repository.root))
}

/** Throws NOT_FOUND if nothing has been run here yet: there is no mark of a store, and no store of an older version, which is refused when it is opened. */
export const requireStore = ({ stateDir, repository }: Home): void => {
  if (hadStore(stateDir) || existsSync(join(stateDir, 'store'))) return
  throw new AppError(
    'NOT_FOUND',
    `nothing has been run for ${repositoryName(repository)} yet; start with: unstuck run "<what you want done>"`,
  )
}
