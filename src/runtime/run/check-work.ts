/** Runs the checks of a run on a clean clone of the agent's work and on its base commit. */
import { join } from 'node:path'
import { proves } from '../../domain/run.ts'
import { runOnBase } from '../checks/baseline.ts'
import type { Baseline } from '../checks/kept-checks.ts'
import { runHonestly, type HonestReport, type HonestRequest } from '../checks/honest-checks.ts'
import type { PlannedChecks } from '../checks/verify-contract.ts'
import type { ChangeList } from '../../workspace/contract.ts'
import type { Session } from '../core/session.ts'
import { asInWorkspace } from './clean-checks.ts'
import { addUsed, placeOfChecks } from './repair.ts'

const requestOf = (session: Session, planned: PlannedChecks): HonestRequest => {
  const { context, task, run } = session
  return {
    ...placeOfChecks(session),
    ...(context.machine === undefined ? {} : { machine: context.machine }),
    base: {
      ...context,
      commit: run.baseCommit ?? '',
      dir: join(session.paths.root, 'base'),
      installs: run.verdict?.installed ?? [],
    },
    commands: planned.commands,
    source: (command) => (planned.fromContract.has(command) ? 'contract' : task.commandSource),
    folder: session.paths.check,
    changed: (session.collected?.changes ?? []).map(({ path }) => path),
    passed: () => context.at('check-passed'),
  }
}

/** Runs the planned checks on the work. Paths in the report are those of the agent's workspace. */
export const checkWork = async (session: Session, planned: PlannedChecks): Promise<HonestReport> => {
  const { context } = session
  const begun = context.clock.elapsed()
  // An interrupted verification may have left files; mixed with these results they would be read as new.
  context.ports.files.rmSync(join(session.paths.root, 'checks'), { recursive: true, force: true })
  const report = await runHonestly(requestOf(session, planned))
  addUsed(session, begun)
  return asInWorkspace(session, report)
}

/** Results, on another commit, of the checks that pass now. */
const passedOn = async (
  session: Session,
  { planned, report, commit }: { planned: PlannedChecks; report: HonestReport; commit: string },
): Promise<Baseline[]> => {
  const begun = session.context.clock.elapsed()
  const request = requestOf(session, planned)
  const place = { ...request.base, commit }
  const found: Baseline[] = []
  for (const { command, durationMs } of report.results.filter(proves))
    found.push(await runOnBase(place, request, { before: [], command, neededMs: durationMs }, request.totalMs))
  addUsed(session, begun)
  return found
}

export const passedOnBase = (session: Session, planned: PlannedChecks, report: HonestReport): Promise<Baseline[]> =>
  passedOn(session, { planned, report, commit: session.run.baseCommit ?? '' })

/** The same on the collected work, with these paths as in the base commit. */
export const passedWithout = async (
  session: Session,
  { planned, found, paths }: { planned: PlannedChecks; found: ChangeList; paths: readonly string[] },
  report: HonestReport,
): Promise<Baseline[]> => {
  const { git } = session.context.ports
  const base = session.run.baseCommit ?? ''
  const kept = found.changes.map(({ path }) => path).filter((path) => !paths.includes(path))
  const tree = await git.buildTree(session.context.shadow, { base, tree: found.tree, paths: kept })
  const subject = 'The work with the tests of its base commit'
  const commit = await git.buildCommit(session.context.shadow, { base, tree, subject, body: '', trailers: {} })
  return passedOn(session, { planned, report, commit })
}
