/** The commit of a finished run, for the run that continues it, its merge or its review. The run may have been on another host. */
import type { Run } from '../../domain/run.ts'
import type { Context } from '../core/context.ts'
import { remoteLinkOf, runRef } from '../core/remote-link.ts'
import { hasCommits } from './progress-summary.ts'

/** Fetches the commit if it is not here. False = it is gone; an outage of the remote is thrown. */
export const bringFinishedWork = async (
  context: Context,
  { id, commit, baseCommit }: Pick<Run, 'id' | 'commit' | 'baseCommit'>,
): Promise<boolean> => {
  if (commit === null || baseCommit === null) return false
  const wanted = [commit, baseCommit]
  if (await hasCommits(context, wanted)) return true
  if (context.remote === undefined) return false
  await remoteLinkOf(context).fetchRefs([runRef(id)])
  return hasCommits(context, wanted)
}
