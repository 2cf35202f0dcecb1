/**
 * A run without an agent: a person gave a task back, and the content of their folder is the work. The folder is only
 * read and copied, so the person's files, and a terminal that is open there, are never touched.
 */
import type { TakenOver } from '../../domain/task.ts'
import { AppError } from '../../errors.ts'
import { installedPatterns } from '../../recovery/install.ts'
import { getRun } from '../../store/run.ts'
import { recordPrepared, readPrepared } from '../agent/prepared.ts'
import { copiedPatterns, makeFreshWorkspace } from '../checks/fresh-workspace.ts'
import { runPaths } from '../core/context.ts'
import { saveProgress, type RunContext } from '../core/run-context.ts'
import type { PhaseResult } from './phase.ts'
import { bringBase } from './remote-run.ts'

/**
 * No size limit: files that are too large are refused by the same rules as an agent's work, instead of being silently
 * left out here.
 */
const everySize = Number.MAX_SAFE_INTEGER / 16

const installedIn = async ({ context }: RunContext, runId: string | null): Promise<string[]> =>
  installedPatterns((runId === null ? undefined : await getRun(context.db, runId))?.verdict?.installed ?? [])

const copyWork = async (runContext: RunContext, { folder, base, runId }: TakenOver): Promise<void> => {
  const { context, goal, paths, run, task } = runContext
  const { git } = context.ports
  const prepared = readPrepared({ context, paths: runPaths(context, runId ?? task.id) })
  const snapshot = await git.snapshot(context.shadow, {
    ...{ runId: run.id, workTree: folder, base, reason: 'given back by a person', maxBytes: everySize },
    exclude: [...copiedPatterns(prepared.copied), ...(await installedIn(runContext, runId))],
    at: context.clock.now().toISOString(),
  })
  if (goal.repoMode === 'direct') return
  const { workspace: config } = context.config()
  await git.removeWorkspace(paths.workspace)
  await makeFreshWorkspace(context.ports, {
    clone: { repository: context.repository, base, dir: paths.workspace, branch: `${goal.branchPrefix}run/${run.id}` },
    owners: context.repository,
    ...{ stateDir: context.stateDir, filters: context.shadow.filters, config, signal: context.stopping },
  })
  context.at('workspace-made')
  await git.layOver(context.shadow, { snapshot: snapshot.commit, from: base, onto: base, into: paths.workspace })
  recordPrepared(runContext, prepared)
}

/** Replaces `prepare` and `launch`. It can be repeated: the copy is made from scratch. */
export const collectGivenBack = async (runContext: RunContext, takenOver: TakenOver): Promise<PhaseResult> => {
  const { context, goal, task } = runContext
  const { folder, base } = takenOver
  if (!context.ports.files.existsSync(folder))
    throw new AppError(
      'REPOSITORY_STATE',
      `the folder in which a person worked on task ${task.id} does not exist: ${folder}; restore it and give the task back again, or cancel the task`,
    )
  if (goal.repoMode === 'remote') await bringBase(runContext, base)
  await saveProgress(runContext, { baseCommit: base })
  await copyWork(runContext, takenOver)
  await saveProgress(runContext, { phase: 'collect' })
  return 'on'
}
