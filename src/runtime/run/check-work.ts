/** Runs the checks of a run on a clean clone of the agent's work and on its base commit. */
import { join } from 'node:path'
import { isEvidence } from '../../domain/run.ts'
import { runOnBase } from '../checks/baseline.ts'
import type { Baseline } from '../checks/check-cache.ts'
import { runAndJudgeChecks, type JudgedReport, type JudgedRequest } from '../checks/check-runner.ts'
import type { PlannedChecks } from '../checks/verify-contract.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import type { RunContext } from '../core/run-context.ts'
import { withAgentPaths } from './check-workspace.ts'
import { addVerificationTime, commandContext } from './repair.ts'

const requestOf = (runContext: RunContext, planned: PlannedChecks): JudgedRequest => {
  const { context, task, run } = runContext
  return {
    ...commandContext(runContext),
    ...(context.machine === undefined ? {} : { machine: context.machine }),
    base: {
      ...context,
      commit: run.baseCommit ?? '',
      dir: join(runContext.paths.root, 'base'),
      installs: run.verdict?.installed ?? [],
    },
    commands: planned.commands,
    source: (command) => (planned.fromContract.has(command) ? 'contract' : task.commandSource),
    folder: runContext.paths.check,
    changed: (runContext.collected?.changes ?? []).map(({ path }) => path),
    passed: () => context.at('check-passed'),
  }
}

/** Runs the planned checks on the work. Paths in the report are those of the agent's workspace. */
export const checkWork = async (runContext: RunContext, planned: PlannedChecks): Promise<JudgedReport> => {
  const { context } = runContext
  const begun = context.clock.elapsed()
  // An interrupted verification may have left files; mixed with these results they would be read as new.
  context.ports.files.rmSync(join(runContext.paths.root, 'checks'), { recursive: true, force: true })
  const report = await runAndJudgeChecks(requestOf(runContext, planned))
  addVerificationTime(runContext, begun)
  return withAgentPaths(runContext, report)
}

/** Results, on another commit, of the checks that pass now. */
const passedOn = async (
  runContext: RunContext,
  { planned, report, commit }: { planned: PlannedChecks; report: JudgedReport; commit: string },
): Promise<Baseline[]> => {
  const begun = runContext.context.clock.elapsed()
  const request = requestOf(runContext, planned)
  const place = { ...request.base, commit }
  const found: Baseline[] = []
  for (const { command, durationMs } of report.results.filter(isEvidence))
    found.push(await runOnBase(place, request, { before: [], command, neededMs: durationMs }, request.totalMs))
  addVerificationTime(runContext, begun)
  return found
}

export const passedOnBase = (
  runContext: RunContext,
  planned: PlannedChecks,
  report: JudgedReport,
): Promise<Baseline[]> => passedOn(runContext, { planned, report, commit: runContext.run.baseCommit ?? '' })

/** The same on the collected work, with these paths as in the base commit. */
export const passedWithout = async (
  runContext: RunContext,
  { planned, found, paths }: { planned: PlannedChecks; found: ChangeList; paths: readonly string[] },
  report: JudgedReport,
): Promise<Baseline[]> => {
  const { git } = runContext.context.ports
  const base = runContext.run.baseCommit ?? ''
  const kept = found.changes.map(({ path }) => path).filter((path) => !paths.includes(path))
  const tree = await git.buildTree(runContext.context.shadow, { base, tree: found.tree, paths: kept })
  const subject = 'The work with the tests of its base commit'
  const commit = await git.buildCommit(runContext.context.shadow, { base, tree, subject, body: '', trailers: {} })
  return passedOn(runContext, { planned, report, commit })
}
