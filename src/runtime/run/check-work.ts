/** Runs the checks of a run on what its agent left, and on the commit that it began from. */
import { join } from 'node:path'
import { proves } from '../../domain/run.ts'
import { runOnBase, type Baseline } from '../checks/baseline.ts'
import { runHonestly, type HonestReport, type HonestRequest } from '../checks/honest-checks.ts'
import type { PlannedChecks } from '../checks/verify-contract.ts'
import type { Session } from '../core/session.ts'
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

export const checkWork = async (session: Session, planned: PlannedChecks): Promise<HonestReport> => {
  const { context } = session
  const begun = context.clock.elapsed()
  // What an interrupted verification left running must not write into this one's files.
  context.ports.files.rmSync(join(session.paths.root, 'checks'), { recursive: true, force: true })
  const report = await runHonestly(requestOf(session, planned))
  addUsed(session, begun)
  return report
}

/** What the checks that pass now do on the base commit. */
export const passedOnBase = async (
  session: Session,
  planned: PlannedChecks,
  { results }: HonestReport,
): Promise<Baseline[]> => {
  const begun = session.context.clock.elapsed()
  const request = requestOf(session, planned)
  const bases: Baseline[] = []
  for (const { command, durationMs } of results.filter(proves))
    bases.push(await runOnBase(request.base, request, { before: [], command, neededMs: durationMs }, request.totalMs))
  addUsed(session, begun)
  return bases
}
