/** Prepares copies of packages while agents work, so that the next workspace need not wait for a copy. */
import { join } from 'node:path'
import { messageOf } from '../../errors.ts'
import type { Context } from '../core/context.ts'

/** A failure is only logged: the next workspace then makes its own copy. */
export const fillPackagePool = async ({ ports, stateDir, stopping, log }: Context): Promise<void> => {
  try {
    if (!stopping.aborted) await ports.git.tendPool({ cacheDir: join(stateDir, 'dependencies'), signal: stopping })
  } catch (error) {
    if (!stopping.aborted) log.warn({ error: messageOf(error) }, 'packages could not be prepared ahead')
  }
}
