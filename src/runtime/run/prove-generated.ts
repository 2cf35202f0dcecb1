/**
 * Files that look generated were left out of the work before its checks ran in a clean clone. If a check made them again, they are
 * generated, and the path is learned. Otherwise they belong to the agent's work, and the question who may change them stays open.
 */
import { join } from 'node:path'
import { keptVerdict, type Excluded, type Verdict } from '../../domain/run.ts'
import { requireLease } from '../../store/run.ts'
import type { JudgedReport } from '../checks/check-runner.ts'
import type { PlannedChecks } from '../checks/verify-contract.ts'
import { exportLearnedPaths } from '../core/export-learned.ts'
import { recordLearned } from '../core/granted-paths.ts'
import { isReleased, saveProgress, type RunContext } from '../core/run-context.ts'
import { resolveOpenOf } from '../core/store-record.ts'
import { checkWork } from './check-work.ts'
import type { PhaseResult } from './phase.ts'
import { recordApplied } from './policy-events.ts'

const exists = ({ context, paths }: RunContext, path: string): boolean =>
  context.ports.files.existsSync(join(paths.checked, path))

/** Gives the changes back to the work: it is collected again, and the recovery had no effect. */
const undo = async (runContext: RunContext, left: readonly Excluded[], why: string): Promise<void> => {
  const { context, run } = runContext
  const { excluded: _before, ...kept } = keptVerdict(run.verdict)
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await resolveOpenOf(tx, run.taskId, (_condition, { action }) =>
      action.name === 'DISCARD_GENERATED' ? { satisfied: false, detail: why } : undefined,
    )
    const verdict = left.length === 0 ? kept : { ...kept, excluded: [...left] }
    await saveProgress(runContext, { phase: 'collect', tree: null, verdict }, tx)
  })
  delete runContext.collected
}

/** Learns the paths that the checks made again. */
const learn = async (runContext: RunContext, made: readonly Excluded[], { results }: JudgedReport): Promise<void> => {
  const { context, run, task } = runContext
  const madeBy = results.map(({ command }) => command)
  const evidence = { untrackedInBase: true, madeBy, at: context.clock.now().toISOString() }
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    for (const { path } of made)
      await recordLearned(tx, { context, run, task }, { path: path.replace(/\/$/, ''), evidence })
    await recordApplied(tx, runContext, {
      ...{ attempt: 1, by: 'checks', allowed: [], discarded: made.map(({ path }) => path) },
      reasons: ['the checks make it again'],
    })
  })
  await exportLearnedPaths(context)
}

/**
 * The exclusions that hold after these checks; undefined = some were undone, and the work is collected again. Call while the clone
 * of the checks exists.
 */
export const proveGenerated = async (
  runContext: RunContext,
  excluded: readonly Excluded[],
  report: JudgedReport,
): Promise<Excluded[] | undefined> => {
  const unproven = excluded.filter((entry) => entry.unproven === true)
  if (unproven.length === 0) return [...excluded]
  const made = report.failed === undefined ? unproven.filter(({ path }) => exists(runContext, path)) : []
  if (made.length > 0) await learn(runContext, made, report)
  const missing = unproven.filter((entry) => !made.includes(entry)).map(({ path }) => path)
  const proven = excluded.flatMap(({ unproven: _open, ...entry }) => (missing.includes(entry.path) ? [] : [entry]))
  if (missing.length === 0) return proven
  const named = missing.slice(0, 5).join(', ')
  const why =
    report.failed === undefined
      ? `no check made ${named} again`
      : `without ${named} the check ${report.failed.command} fails`
  await undo(runContext, proven, why)
  return undefined
}

/**
 * Nothing is left of the changes, and some were left out because they look generated: that is no turn without a change until the checks
 * made them again. Undefined = they did.
 */
export const proveAllLeftOut = async (
  runContext: RunContext,
  { planned, verdict }: { planned: PlannedChecks; verdict: Verdict },
): Promise<PhaseResult | undefined> => {
  const { excluded = [] } = verdict
  if (excluded.every(({ unproven }) => unproven !== true)) return undefined
  const report = await checkWork(runContext, planned)
  if (isReleased(runContext)) return 'ended'
  const proven = await proveGenerated(runContext, excluded, report)
  if (proven === undefined) return 'on'
  await saveProgress(runContext, { verdict: { ...verdict, excluded: proven } })
  return undefined
}
