/**
 * Carries out the changes of mode that this run has intended. Their intent stands in the store before, so after a crash in
 * between they are simply made again: adding bits twice is adding them once.
 */
import type { ObservedDirectory } from '../recovery/evidence.ts'
import type { Action, ModeChange, PostCondition } from '../recovery/playbook.ts'
import { holdLease } from '../store/run.ts'
import { recoveriesOf, settleRecovery, type Recovery } from '../store/recovery.ts'
import { changeMode, lookAtDirectory } from './folder-access.ts'
import type { Session } from './session.ts'

const changeIn = (recovery: Recovery): ModeChange | undefined => {
  const action = recovery.action as unknown as Action
  if (action.type === 'chmod') return action
  return action.type === 'relaunch' ? action.chmod : undefined
}

/**
 * Decides those that failed, and those that no relaunch has to prove. Gives the first folder that could not be mended, with
 * the reason.
 */
export const changeModes = async (session: Session): Promise<ObservedDirectory | undefined> => {
  const { context, run, task } = session
  const { files } = context.ports
  const open = (await recoveriesOf(context.db, task.id)).filter(
    ({ status, runId }) => status === 'acting' && runId === run.id,
  )
  for (const recovery of open) {
    const change = changeIn(recovery)
    if (change === undefined) continue
    const seen = changeMode(files, change)
    const condition = recovery.postCondition as unknown as PostCondition
    // A relaunch has to show that it helped.
    if (seen.holds && condition.type === 'directory_accessible' && condition.relaunch === true) continue
    await context.db.transaction(async (tx) => {
      await holdLease(tx, run)
      await settleRecovery(tx, recovery.id, seen.holds ? 'success' : 'failed', seen.detail)
    })
    if (seen.holds) continue
    const now = lookAtDirectory(files, change.directory)
    return { ...(now ?? { path: change.directory, problem: 'no access', isOurs: true }), failed: seen.detail }
  }
  return undefined
}
