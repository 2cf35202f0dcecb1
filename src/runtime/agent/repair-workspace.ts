/**
 * Repairs the installed packages of a workspace that is used again, after a restart of the engine or of the agent: a process that was
 * killed during an install left half of it. Done before the next launch and never while an agent works there.
 */
import { join } from 'node:path'
import { lastLaunch } from '../../domain/run.ts'
import { appendEvent } from '../../store/event.ts'
import { requireLease } from '../../store/run.ts'
import type { RunContext } from '../core/run-context.ts'

export const repairWorkspace = async (runContext: RunContext): Promise<void> => {
  const { context, goal, paths, run } = runContext
  // In direct mode the workspace is the user's own folder, which Unstuck does not repair.
  if (goal.repoMode === 'direct') return
  const { damage, restored } = await context.ports.git.mendDependencies({
    repository: context.repository,
    workspace: paths.workspace,
    cacheDir: join(context.stateDir, 'dependencies'),
    asideDir: join(paths.root, 'dependencies-aside'),
    signal: context.stopping,
  })
  if (damage.length === 0) return
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await appendEvent(tx, {
      type: 'run.dependencies_mended',
      goalId: run.goalId,
      taskId: run.taskId,
      runId: run.id,
      payload: { damage, laid: restored === 'copied' },
    })
  })
}

/** Before a launch whose gate is still closed; the first launch of a fresh workspace needs no repair. */
export const repairBeforeLaunch = async (runContext: RunContext): Promise<void> => {
  const relaunched = (lastLaunch(runContext.run)?.number ?? 1) > 1
  if (relaunched || runContext.isReattached === true) await repairWorkspace(runContext)
}
