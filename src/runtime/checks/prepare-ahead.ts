/** Prepares trees and copies of packages while agents work, so that the next workspace need not wait for them. */
import { join } from 'node:path'
import { messageOf } from '../../errors.ts'
import { treePool, type Context } from '../core/context.ts'

/** A failure is only logged: the next workspace then makes its own. */
export const prepareAhead = async (context: Context): Promise<void> => {
  const { ports, shadow, stateDir, stopping: signal, log } = context
  const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
    try {
      if (!signal.aborted) await work()
    } catch (error) {
      if (!signal.aborted) log.warn({ error: messageOf(error) }, `${what} could not be prepared ahead`)
    }
  }
  await attempt('a tree', () => ports.git.tendTrees({ shadow, pool: treePool(context), signal }))
  await attempt('packages', () => ports.git.tendPool({ cacheDir: join(stateDir, 'dependencies'), signal }))
}
