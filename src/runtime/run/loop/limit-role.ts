/**
 * What a role may change is enforced after its turn, not left to its instructions: its other changes are kept as a snapshot, reported and
 * put back. In this order: after a crash in between the same turn is limited again, and finds what is left to do.
 */
import type { LoopRole, LoopState } from '../../../domain/loop.ts'
import { keepsBoxes } from '../../../recovery/loop/open-boxes.ts'
import { requireLease } from '../../../store/run.ts'
import { appendEvent, newestEventOf } from '../../../store/event.ts'
import type { ChangeList } from '../../../workspace/repository-types.ts'
import { collectNow } from '../../agent/collected.ts'
import { mustKeepSnapshot } from '../../agent/stop-agent.ts'
import { reportsToPutBack, takeReports } from '../../agent/turn-reports.ts'
import { workTreeOf, type RunContext } from '../../core/run-context.ts'
import { planFileMatcher } from './plan-files.ts'

interface Turn {
  before: string
  after: string
  changed: readonly string[]
}

/** Plan files of the repository in which the worker removed a box, perhaps with the whole file. Its other work is judged when it is complete. */
const plansWithoutBox = async (runContext: RunContext, { before, after, changed }: Turn): Promise<string[]> => {
  const { git } = runContext.context.ports
  const textIn = async (tree: string, path: string): Promise<string> =>
    (await git.textAt(runContext.context.shadow, tree, path)) ?? ''
  const found: string[] = []
  for (const path of changed.filter(planFileMatcher(runContext)))
    if (!keepsBoxes(await textIn(before, path), await textIn(after, path))) found.push(path)
  return found
}

/** The changed paths that the role may not change. */
const refusedPaths = async (runContext: RunContext, role: LoopRole, turn: Turn): Promise<string[]> => {
  if (role === 'worker') return plansWithoutBox(runContext, turn)
  const isPlan = planFileMatcher(runContext)
  return turn.changed.filter((path) => role !== 'planner' || !isPlan(path))
}

interface Refused {
  paths: readonly string[]
  reports: readonly string[]
}

/** The event is stored before anything is put back, once per turn. A pass that a crash cut short would see only a part. */
const isRecorded = async ({ context, run }: RunContext, { iteration, role }: LoopState): Promise<boolean> => {
  const payload = (await newestEventOf(context.db, run, 'loop.changes_put_back'))?.payload
  return payload?.['iteration'] === iteration && payload['role'] === role
}

const keepAndRecord = async (runContext: RunContext, loop: LoopState, { paths, reports }: Refused): Promise<void> => {
  const { context, run } = runContext
  if (await isRecorded(runContext, loop)) return
  // Without a snapshot nothing is put back: the files of the workspace would be the only copy.
  if (paths.length > 0) await mustKeepSnapshot(runContext, `before changes of the ${loop.role} are put back`)
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await appendEvent(tx, {
      type: 'loop.changes_put_back',
      ...{ goalId: run.goalId, taskId: run.taskId, runId: run.id },
      payload: { iteration: loop.iteration, role: loop.role, paths, reports },
    })
  })
}

/** The work after the turn, with only the changes that the role may make. Can be repeated after a crash. */
export const limitRole = async (runContext: RunContext, loop: LoopState, found: ChangeList): Promise<ChangeList> => {
  const { context } = runContext
  const { git } = context.ports
  const [before, after] = [loop.before ?? found.tree, found.tree]
  const changed = (await git.changesBetween(context.shadow, before, after)).map(({ path }) => path)
  const paths = await refusedPaths(runContext, loop.role, { before, after, changed })
  const reports = reportsToPutBack(runContext, loop.role)
  if (paths.length + reports.length > 0) await keepAndRecord(runContext, loop, { paths, reports })
  takeReports(runContext, loop.role)
  if (paths.length === 0) return found
  const allowed = changed.filter((path) => !paths.includes(path))
  const kept = await git.buildTree(context.shadow, { base: before, tree: after, paths: allowed })
  await git.revertFiles(context.shadow, { before: kept, after, workTree: workTreeOf(runContext) })
  return collectNow(runContext)
}
