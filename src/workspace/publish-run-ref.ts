/**
 * Publishes a run's commit for the engine that merges it, if several engines work on one repository: the objects are copied
 * there, and a ref outside of the branches protects them until the merge is recorded.
 */
import type { Repository } from './repository-types.ts'
import { copyObjects, readRef, swapRef } from './branches.ts'
import type { Shadow } from './shadow.ts'

const refOf = (runId: string): string => `refs/unstuck/runs/${runId}`

/** Idempotent. */
export const publishRunRef = async (
  repository: Repository,
  shadow: Shadow,
  { runId, from, commit }: { runId: string; from: string; commit: string },
): Promise<void> => {
  const ref = refOf(runId)
  const now = await readRef(repository, ref)
  if (now === commit) return
  await copyObjects(repository, shadow, { from, to: commit })
  await swapRef(repository, { ref, from: now, to: commit, why: 'unstuck: hand over' })
}

/** Removes the ref, once the branch contains the commit. */
export const removeRunRef = async (repository: Repository, runId: string): Promise<void> => {
  const ref = refOf(runId)
  const now = await readRef(repository, ref)
  if (now !== null) await swapRef(repository, { ref, from: now, to: null, why: 'unstuck: merged' })
}
