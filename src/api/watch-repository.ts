/**
 * Ends the engine when the folder of its repository has been gone for a while: it was moved, renamed or deleted, and nothing can be done
 * at its path. Agents and their work stay, and the engine that starts where the repository is then continues with them.
 */
import type { Context } from '../runtime/core/context.ts'
import { goneText, isRepositoryGone } from '../runtime/core/gone-repository.ts'

const everyMs = 1_000

/** A repository that is cloned anew, and a mount that hangs, are back by then. */
const goneMs = 10_000

export const watchRepository = async (context: Context, stop: () => void): Promise<void> => {
  const { clock, log, repository, stopping } = context
  let goneAt: number | undefined
  while (!stopping.aborted) {
    await clock.wait(everyMs, stopping)
    goneAt = (await isRepositoryGone(context)) ? (goneAt ?? clock.elapsed()) : undefined
    if (goneAt === undefined || clock.elapsed() - goneAt < goneMs) continue
    log.error({ root: repository.root }, goneText(repository.root))
    return stop()
  }
}
