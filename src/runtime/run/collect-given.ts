/**
 * A run without an agent: a person gave a task back, and the content of their folder is the work. The folder is only
 * read and copied, so the person's files, and a terminal that is open there, are never touched.
 */
import type { TakenOver } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import { madeBy } from '../../recovery/install.ts'
import { getRun } from '../../store/run.ts'
import { notePrepared, readPrepared } from '../agent/prepared.ts'
import { copiedPatterns, makeFresh } from '../checks/fresh-workspace.ts'
import { runPaths } from '../core/context.ts'
import { save, type Session } from '../core/session.ts'
import type { Next } from './phase.ts'
import { bringBase } from './remote-run.ts'

/**
 * No size limit: files that are too large are refused by the same rules as an agent's work, instead of being silently
 * left out here.
 */
const everySize = Number.MAX_SAFE_INTEGER / 16

const installedIn = async ({ context }: Session, runId: string | null): Promise<string[]> =>
  madeBy((runId === null ? undefined : await getRun(context.db, runId))?.verdict?.installed ?? [])

const copyWork = async (session: Session, { folder, base, runId }: TakenOver): Promise<void> => {
  const { context, goal, paths, run, task } = session
  const { git } = context.ports
  const prepared = readPrepared({ context, paths: runPaths(context, runId ?? task.id) })
  const snapshot = await git.snapshot(context.shadow, {
    ...{ runId: run.id, workTree: folder, base, reason: 'given back by a person', maxBytes: everySize },
    exclude: [...copiedPatterns(prepared.copied), ...(await installedIn(session, runId))],
    at: context.clock.now().toISOString(),
  })
  if (goal.repoMode === 'direct') return
  const { workspace: config } = context.config()
  await git.removeWorkspace(paths.workspace)
  await makeFresh(context.ports, {
    clone: { repository: context.repository, base, dir: paths.workspace, branch: `unstuck/run/${run.id}` },
    owners: context.repository,
    ...{ stateDir: context.stateDir, config, signal: context.stopping },
  })
  context.at('workspace-made')
  await git.layOver(context.shadow, { snapshot: snapshot.commit, from: base, onto: base, into: paths.workspace })
  notePrepared(session, prepared)
}

/** Replaces `prepare` and `launch`. It can be repeated: the copy is made from scratch. */
export const collectGiven = async (session: Session, takenOver: TakenOver): Promise<Next> => {
  const { context, goal, task } = session
  const { folder, base } = takenOver
  if (!context.ports.files.existsSync(folder))
    throw new AppError(
      'REPOSITORY_STATE',
      `the folder in which a person worked on task ${task.id} does not exist: ${folder}; restore it and give the task back again, or cancel the task`,
    )
  if (goal.repoMode === 'remote') await bringBase(session, base)
  await save(session, { baseCommit: base })
  await copyWork(session, takenOver)
  await save(session, { phase: 'collect' })
  return 'on'
}
