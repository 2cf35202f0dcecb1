/**
 * Carries out the changes of mode that a run has intended. Their intent is recorded before, so after a crash in between they
 * are simply made again: adding bits twice is adding them once.
 */
import type { ObservedDirectory } from '../../recovery/evidence.ts'
import type { Action } from '../../recovery/playbook.ts'
import type { ModeChange } from '../../recovery/types.ts'
import type { Files } from '../core/files.ts'
import { changeMode, lookAtDirectory } from '../core/folder-access.ts'
import type { OpenRecoveries, Recorded } from '../core/recovery-record.ts'

const changeIn = (action: Action): ModeChange | undefined => {
  if (action.type === 'chmod') return action
  return action.type === 'relaunch' ? action.chmod : undefined
}

/** A relaunch has to show that the change helped; any other change is proven by the folder itself. */
const isProvenByLaunch = ({ postCondition }: Recorded): boolean =>
  postCondition.type === 'directory_accessible' && postCondition.relaunch === true

/**
 * Resolves the changes that failed, and those that no relaunch has to prove. Returns the first folder that could not be
 * changed, with the reason.
 */
export const changeModes = async (
  record: OpenRecoveries,
  files: Files,
  runId: string,
): Promise<ObservedDirectory | undefined> => {
  for (const recovery of await record.history()) {
    const change = recovery.status === 'acting' && recovery.runId === runId ? changeIn(recovery.action) : undefined
    if (change === undefined) continue
    const { holds, detail } = changeMode(files, change)
    if (holds && isProvenByLaunch(recovery)) continue
    await record.resolve(recovery.id, holds ? 'success' : 'failed', detail)
    if (holds) continue
    const now = lookAtDirectory(files, change.directory)
    return { ...(now ?? { path: change.directory, problem: 'no access', isOurs: true }), failed: detail }
  }
  return undefined
}
