/**
 * What the agent of the run before was to be told when its provider refused it, or its run was interrupted: it never worked on that, so
 * the first launch of the next run is told it. Without this the output of a failed check is lost with the wait.
 */
import { lastLaunch, type Run } from '../../domain/run.ts'
import { failureCodes } from '../../recovery/diagnosis/labels.ts'
import { recoveriesOfRun } from '../../store/recovery.ts'
import { listRuns } from '../../store/run.ts'
import { notByWork } from '../core/call-results.ts'
import type { RunContext } from '../core/run-context.ts'

/** Whether the end of the run says nothing about what its last launch was told. */
const wasRefused = ({ errorMeta }: Run): boolean => {
  if (errorMeta === null) return false
  const { source, failureCode } = errorMeta
  const [category] = failureCodes[failureCode] ?? []
  const isOfProvider = category === 'env' || category === 'flaky' || category === 'permission'
  return notByWork.has(failureCode) || (source === 'execution' && isOfProvider && failureCode !== 'timeout')
}

/** Null = nothing is left to tell. */
export const undeliveredHint = async ({ context: { db }, run }: RunContext): Promise<string | null> => {
  if (run.loop !== null) return null
  const earlier = (await listRuns(db, { taskId: run.taskId })).filter(({ number }) => number < run.number)
  const before = earlier.findLast(({ launches }) => launches.length > 0)
  const last = before === undefined ? undefined : lastLaunch(before)
  if (before === undefined || last === undefined || last.ask !== undefined || !wasRefused(before)) return null
  // Told once more at the beginning of that run, or after a check: what a restart after a stall says is about that session.
  const relaunches = (await recoveriesOfRun(db, before.id)).filter(({ action }) => action.type === 'relaunch')
  const isFeedback = (relaunches.at(-1)?.action as { feedback?: object } | undefined)?.feedback !== undefined
  return last.number === 1 || isFeedback ? last.hint : null
}
