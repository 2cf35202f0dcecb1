/**
 * A run that goes on in its old workspace, after a restart of the engine or of its agent: whoever was ended in the middle of an
 * install left half of it. Looked at before the next launch, never while an agent is at work there.
 */
import { join } from 'node:path'
import { lastLaunch } from '../../domain/run.ts'
import { appendEvent } from '../../store/event.ts'
import { holdLease } from '../../store/run.ts'
import type { Session } from '../core/session.ts'

export const mendWorkspace = async (session: Session): Promise<void> => {
  const { context, goal, paths, run } = session
  // The user's own folder is not ours to mend.
  if (goal.repoMode === 'direct') return
  const { damage, laid } = await context.ports.git.mendDependencies({
    repository: context.repository,
    workspace: paths.workspace,
    cacheDir: join(context.stateDir, 'dependencies'),
    asideDir: join(paths.root, 'dependencies-aside'),
    signal: context.stopping,
  })
  if (damage.length === 0) return
  await context.db.transaction(async (tx) => {
    await holdLease(tx, run)
    await appendEvent(tx, {
      type: 'run.dependencies_mended',
      goalId: run.goalId,
      taskId: run.taskId,
      runId: run.id,
      payload: { damage, laid: laid === 'copied' },
    })
  })
}

/** Before a launch whose gate was not opened yet. */
export const mendBeforeLaunch = async (session: Session): Promise<void> => {
  const relaunched = (lastLaunch(session.run)?.number ?? 1) > 1
  if (relaunched || session.takenUp === true) await mendWorkspace(session)
}
