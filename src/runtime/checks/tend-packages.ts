/** Has the next trees of packages made while agents work, so that nobody waits for a copy. */
import { join } from 'node:path'
import { messageOf } from '../../errors.ts'
import type { Context } from '../core/context.ts'

/** Beside the work: a failure is reported, and the next workspace makes its own copy. */
export const tendPackages = async ({ ports, stateDir, stopping, log }: Context): Promise<void> => {
  try {
    if (!stopping.aborted) await ports.git.tendPool({ cacheDir: join(stateDir, 'dependencies'), signal: stopping })
  } catch (error) {
    if (!stopping.aborted) log.warn({ error: messageOf(error) }, 'packages could not be prepared ahead')
  }
}
