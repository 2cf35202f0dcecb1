/** Ends what a run has started, after its work was kept. */
import { lastLaunch, shimsOf } from '../../domain/run.ts'
import type { StopCause } from '../../process/contract.ts'
import type { RunSigns } from '../../process/sweep.ts'
import { copiedPatterns } from '../checks/fresh-workspace.ts'
import { workTreeOf, type Session } from '../core/session.ts'
import { readPrepared } from './prepared.ts'

/** Keeps what the workspace holds before the engine ends a process in it. A snapshot that fails is reported and stops nothing. */
export const keepSnapshot = async (session: Session, reason: string): Promise<void> => {
  const { context, run } = session
  if (run.baseCommit === null) return
  try {
    await context.ports.git.snapshot(context.shadow, {
      runId: run.id,
      workTree: workTreeOf(session),
      base: run.baseCommit,
      reason,
      exclude: copiedPatterns(readPrepared(session).copied),
      at: context.clock.now().toISOString(),
    })
  } catch (error) {
    context.log.warn({ run: run.id, error: String(error) }, 'a snapshot could not be made')
  }
}

/** Snapshot first, then SIGTERM to the shim; the first cause wins. */
export const stopLaunch = async (session: Session, cause: StopCause): Promise<void> => {
  const { processes } = session.context.ports
  const dir = session.paths.launch(lastLaunch(session.run)?.number ?? 1)
  const state = processes.launchState(dir)
  if (state.state !== 'running' && state.state !== 'at-gate') return
  await keepSnapshot(session, `before a stop: ${cause}`)
  processes.requestStop(state.shim, cause)
}

/** What leads to the programs of a run besides its id. In place the agent works in the user's own folder, where others may be at work. */
export const signsOf = (session: Session): RunSigns => ({
  shims: shimsOf(session.run),
  ...(session.goal.repoMode === 'direct' ? {} : { folder: workTreeOf(session) }),
})

/** No run ends while a process of it is alive: its agent would go on working, and spending, beside the next run of the task. */
export const endPrograms = async (session: Session, cause: StopCause): Promise<void> => {
  const { processes } = session.context.ports
  await stopLaunch(session, cause)
  await processes.waitForExit(session.paths.launch(lastLaunch(session.run)?.number ?? 1), { deadlineMs: 60_000 })
  await processes.sweep(session.run.id, signsOf(session))
  await processes.sweep(`${session.run.id}-check`)
}
