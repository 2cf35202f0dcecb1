/** Runs the checks of a run on a clean clone of the agent's work and on its base commit. */
import { join } from 'node:path'
import { isEvidence } from '../../domain/run.ts'
import { isBuild } from '../../recovery/diagnosis/argv.ts'
import { runOnBase } from '../checks/baseline.ts'
import type { Baseline } from '../checks/check-cache.ts'
import { runAndJudgeChecks, type JudgedReport, type JudgedRequest } from '../checks/check-runner.ts'
import type { PlannedChecks } from '../checks/verify-contract.ts'
import type { ChangeList } from '../../workspace/repository-types.ts'
import type { RunContext } from '../core/run-context.ts'
import { withAgentPaths } from './check-workspace.ts'
import { addVerificationTime, commandContext } from './repair.ts'
import { defined } from '../../domain/defined.ts'

const requestOf = (runContext: RunContext, planned: PlannedChecks): JudgedRequest => {
  const { context, task, run } = runContext
  return {
    ...commandContext(runContext),
    ...defined({ machine: context.machine }),
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

interface Reduced {
  planned: PlannedChecks
  found: ChangeList
  paths: readonly string[]
}

/** The collected work with these paths as in the base commit. */
const commitWithout = async ({ context, run }: RunContext, { found, paths }: Reduced): Promise<string> => {
  const { git } = context.ports
  const base = run.baseCommit ?? ''
  const kept = found.changes.map(({ path }) => path).filter((path) => !paths.includes(path))
  const tree = await git.buildTree(context.shadow, { base, tree: found.tree, paths: kept })
  const subject = 'The work without some of its paths'
  return git.buildCommit(context.shadow, { base, tree, subject, body: '', trailers: {} })
}

/** Results of the checks that pass now, on the work without these paths. */
export const passedWithout = async (
  runContext: RunContext,
  reduced: Reduced,
  report: JudgedReport,
): Promise<Baseline[]> =>
  passedOn(runContext, {
    ...{ planned: reduced.planned, report },
    commit: await commitWithout(runContext, reduced),
  })

/** Result of the check that fails now, after those before it, on the work without these paths. Undefined = none fails. */
export const failedWithout = async (
  runContext: RunContext,
  reduced: Reduced,
  { failed, results }: JudgedReport,
): Promise<Baseline | undefined> => {
  if (failed === undefined) return undefined
  const begun = runContext.context.clock.elapsed()
  const request = requestOf(runContext, reduced.planned)
  const place = { ...request.base, commit: await commitWithout(runContext, reduced) }
  const earlier = reduced.planned.commands.slice(0, Math.max(0, reduced.planned.commands.indexOf(failed.command)))
  const neededMs = results.find(({ command }) => command === failed.command)?.durationMs ?? 0
  const plan = { before: earlier.filter(isBuild), command: failed.command, neededMs }
  const found = await runOnBase(place, request, plan, request.totalMs)
  addVerificationTime(runContext, begun)
  return found
}
