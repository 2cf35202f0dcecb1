/** Stops the processes of a run, after its work was kept as a snapshot. */
import { lastLaunch, shimsOf } from '../../domain/run.ts'
import type { StopCause } from '../../process/shim-protocol.ts'
import type { RunSigns } from '../../process/sweep.ts'
import { copiedPatterns } from '../checks/fresh-workspace.ts'
import { workTreeOf, type RunContext } from '../core/run-context.ts'
import { readPrepared } from './prepared.ts'

/** Keeps the workspace as it is now. Throws if that fails, or if the run has no base yet. */
export const mustKeepSnapshot = async (runContext: RunContext, reason: string): Promise<void> => {
  const { context, run } = runContext
  if (run.baseCommit === null) throw new Error(`run ${run.id} has no base commit`)
  await context.ports.git.snapshot(context.shadow, {
    runId: run.id,
    workTree: workTreeOf(runContext),
    base: run.baseCommit,
    reason,
    exclude: copiedPatterns(readPrepared(runContext).copied),
    at: context.clock.now().toISOString(),
  })
}

/** Keeps the workspace before the engine stops a process in it. If it fails, the failure is logged and the stop continues: an agent that cannot be stopped would do more harm. Returns whether the files are kept. */
export const keepSnapshot = async (runContext: RunContext, reason: string): Promise<boolean> => {
  const { context, run } = runContext
  if (run.baseCommit === null) return false
  try {
    await mustKeepSnapshot(runContext, reason)
    return true
  } catch (error) {
    context.log.warn({ run: run.id, error: String(error) }, 'a snapshot could not be made')
    return false
  }
}

/** Snapshot first, then SIGTERM to the shim; the first cause wins. */
export const stopLaunch = async (runContext: RunContext, cause: StopCause): Promise<void> => {
  const { processes } = runContext.context.ports
  const dir = runContext.paths.launch(lastLaunch(runContext.run)?.number ?? 1)
  const state = processes.launchState(dir)
  if (state.state !== 'running' && state.state !== 'at-gate') return
  await keepSnapshot(runContext, `before a stop: ${cause}`)
  processes.requestStop(state.shim, cause)
}

/** How processes of a run are found besides by its id. In direct mode not by folder: other programs may work in the user's folder. */
export const runSigns = (runContext: RunContext): RunSigns => ({
  shims: shimsOf(runContext.run),
  ...(runContext.goal.repoMode === 'direct' ? {} : { folder: workTreeOf(runContext) }),
})

/** Call before a run ends: a surviving agent would keep writing and spending next to the next run of the task. */
export const stopProcesses = async (runContext: RunContext, cause: StopCause): Promise<void> => {
  const { processes } = runContext.context.ports
  await stopLaunch(runContext, cause)
  await processes.waitForExit(runContext.paths.launch(lastLaunch(runContext.run)?.number ?? 1), { deadlineMs: 60_000 })
  await processes.sweep(runContext.run.id, runSigns(runContext))
  await processes.sweep(`${runContext.run.id}-check`)
}
