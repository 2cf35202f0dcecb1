/**
 * How a run's commit gets from the engine that made it to the one that merges it, where both work on one repository: its
 * objects go there, and a ref outside the branches keeps them until the merge is recorded.
 */
import type { Repository } from './contract.ts'
import { bringObjects, readRef, swapRef } from './landing.ts'
import type { Shadow } from './shadow.ts'

const refOf = (runId: string): string => `refs/unstuck/runs/${runId}`

/** Repeating it changes nothing. */
export const handOver = async (
  repository: Repository,
  shadow: Shadow,
  { runId, from, commit }: { runId: string; from: string; commit: string },
): Promise<void> => {
  const ref = refOf(runId)
  const now = await readRef(repository, ref)
  if (now === commit) return
  await bringObjects(repository, shadow, { from, to: commit })
  await swapRef(repository, { ref, from: now, to: commit, why: 'unstuck: hand over' })
}

/** Once the commit is on its branch, nothing else has to keep it. */
export const dropHandOver = async (repository: Repository, runId: string): Promise<void> => {
  const ref = refOf(runId)
  const now = await readRef(repository, ref)
  if (now !== null) await swapRef(repository, { ref, from: now, to: null, why: 'unstuck: merged' })
}
