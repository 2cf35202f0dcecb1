/**
 * Carries out the changes of file modes that a run intends. The intent is recorded first. After a crash in between, the change is made
 * again, which is safe: adding the same bits twice has no further effect.
 */
import type { ObservedDirectory } from '../../recovery/evidence.ts'
import type { Action } from '../../recovery/playbook.ts'
import type { ModeChange } from '../../recovery/types.ts'
import type { Files } from '../core/files.ts'
import { changeMode, inspectDirectory } from '../core/folder-access.ts'
import type { OpenRecoveries, RecordedRecovery } from '../core/recovery-record.ts'

const changeIn = (action: Action): ModeChange | undefined => {
  if (action.type === 'chmod') return action
  return action.type === 'relaunch' ? action.chmod : undefined
}

/** A change made for a relaunch counts only when the relaunched agent can use the folder; any other is proven by the folder's mode. */
const isProvenByLaunch = ({ postCondition }: RecordedRecovery): boolean =>
  postCondition.type === 'directory_accessible' && postCondition.relaunch === true

/**
 * Makes the changes, and resolves those that failed or that need no relaunch as proof. Returns the first folder that could not be
 * changed, with the reason; undefined = all were changed.
 */
export const changeModes = async (
  record: OpenRecoveries,
  files: Files,
  runId: string,
): Promise<ObservedDirectory | undefined> => {
  for (const recovery of await record.history()) {
    const change = recovery.status === 'acting' && recovery.runId === runId ? changeIn(recovery.action) : undefined
    if (change === undefined) continue
    const { satisfied, detail } = changeMode(files, change)
    if (satisfied && isProvenByLaunch(recovery)) continue
    await record.resolve(recovery.id, satisfied ? 'success' : 'failed', detail)
    if (satisfied) continue
    const now = inspectDirectory(files, change.directory)
    return { ...(now ?? { path: change.directory, problem: 'no access', isOurs: true }), failed: detail }
  }
  return undefined
}
