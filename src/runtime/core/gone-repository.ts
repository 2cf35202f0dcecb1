/**
 * Whether the folder of the repository is gone: moved, renamed, deleted, or on a disk that is not mounted. Whatever fails meanwhile fails
 * for that reason, so no failure is diagnosed and no agent is blamed.
 */
import { AppError } from '../../errors.ts'
import type { Context } from './context.ts'

export const goneText = (root: string): string =>
  `the folder of the repository, ${root}, is not there any more: it was moved, renamed or deleted. Nothing of the work is lost; move it back, or go to its new place, and run "unstuck up" there`

export const isRepositoryGone = async ({ ports, repository, remote }: Context): Promise<boolean> =>
  remote === undefined && (await ports.git.directoryOf(repository)) === undefined

/** Throws DIRECTORY_MISSING if it is gone. */
export const requireRepository = async (context: Context): Promise<void> => {
  if (await isRepositoryGone(context)) throw new AppError('DIRECTORY_MISSING', goneText(context.repository.root))
}

const lookMs = 500

/** Returns when it is back, or when the engine stops. */
export const repositoryBack = async (context: Context): Promise<void> => {
  while (!context.stopping.aborted && (await isRepositoryGone(context)))
    await context.clock.wait(lookMs, context.stopping)
}
