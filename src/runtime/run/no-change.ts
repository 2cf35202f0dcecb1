/**
 * Handles a turn that succeeded and changed nothing. The task counts as done only if requested checks
 * show that nothing had to be done. Checks inferred from the repository pass whatever the task says, so they prove
 * nothing here.
 */
import { keptVerdict, outcomeOf, isEvidence, type Verdict } from '../../domain/run.ts'
import { isAutoFix } from '../../domain/rework.ts'
import { needsNoAgent } from '../../domain/task.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { listRuns, requireLease } from '../../store/run.ts'
import { carryOut, recover } from './carry-out.ts'
import { considerProposal } from './decide-proposal.ts'
import { claimInWords, inabilityInWords } from '../../recovery/agent-words.ts'
import { oneLine } from '../agent/run-tools.ts'
import { wordsOfTurn } from './agent-question.ts'
import { resolveFeedback, resolvePaths } from './resolve-feedback.ts'
import { resolveRepairs } from './repair.ts'
import { dropNeedless, resolveProposed } from './settle-proposals.ts'
import { followOwn } from './own-recovery.ts'
import type { PhaseResult } from './phase.ts'
import type { JudgedReport } from '../checks/check-runner.ts'
import { withRepairFacts } from '../checks/repair-facts.ts'
import { chooseStoredRecovery, resolveOpenOf } from '../core/store-record.ts'
import { isReleased, saveProgress, type RunContext } from '../core/run-context.ts'
import type { PlannedChecks } from '../checks/verify-contract.ts'
import { visibleText } from '../../visible-text.ts'
import { excludedNotes, leftOutNotes } from '../agent/collected.ts'
import { defined } from '../../domain/defined.ts'

/** Resolves the recoveries whose post-condition is that the agent produces work. */
export const resolveWork = (runContext: RunContext, seen: { satisfied: boolean; detail: string }): Promise<void> =>
  runContext.context.db.transaction(async (tx) => {
    await requireLease(tx, runContext.run)
    await resolveOpenOf(tx, runContext.task.id, (condition) => (condition.type === 'work_appears' ? seen : undefined))
  })

const requestedChecks = ({ task }: RunContext, planned: PlannedChecks): PlannedChecks => ({
  ...planned,
  commands: planned.commands.filter(
    (command) => task.commandSource !== 'inferred' || planned.fromContract.has(command),
  ),
})

/** Why the checks do not prove that nothing had to be done; undefined = they do. */
const doubtOf = (report: JudgedReport): string | undefined => {
  const failed = report.failed?.command ?? report.results.find((check) => !isEvidence(check))?.command
  const listed = report.results.find(({ excused }) => excused?.because === 'fails on the base commit')?.command
  const command = failed ?? listed
  return command === undefined ? undefined : `${command} does not pass`
}

/**
 * A check whose script or target is missing, on the work and on the base commit. It proves nothing, and no agent is to
 * blame for it.
 */
const isMissing = (check: ObservedCheck): boolean => {
  const { label, facts } = diagnose({ kind: 'check', check })
  return (label === 'missing_script' || label === 'missing_make_target') && facts.droppable === true
}

interface CheckedUnchanged {
  report: JudgedReport
  /** Checks that were left out because they cannot run here. */
  missing: Verdict['dropped']
}

/** Runs the checks and leaves out those that cannot run here. */
const runPossible = async (
  runContext: RunContext,
  asked: PlannedChecks,
  check: UnchangedWork['check'],
): Promise<CheckedUnchanged> => {
  const missing: Verdict['dropped'] = []
  for (let left = asked; ;) {
    const report = await check(left)
    const failed = report.failed === undefined ? undefined : await withRepairFacts(runContext, report.failed)
    if (isReleased(runContext) || failed === undefined || !isMissing(failed)) return { report, missing }
    missing.push({ command: failed.command, reason: diagnose({ kind: 'check', check: failed }).evidence })
    left = { ...left, commands: left.commands.filter((command) => command !== failed.command) }
  }
}

/** Characters of the agent's words that are shown. */
const longestWords = 200

/** Names the changes that were left out: an agent that only reads "no change" would write to the same place again. */
const namedOf = (paths: readonly string[]): string =>
  `${paths.slice(0, 3).join(', ')}${paths.length > 3 ? ` and ${paths.length - 3} more` : ''}`

const unchangedBecause = (runContext: RunContext, because: string) => {
  const { run, collected, strayWork = [], strayFiles = [], ignoredFiles = [], emptyFolders = [] } = runContext
  const elsewhere = [
    ...strayWork.map((where) => `work lies on ${where} of the workspace`),
    ...(strayFiles.length === 0
      ? []
      : [
          `${namedOf(strayFiles.map(visibleText))} changed meanwhile in ${runContext.context.repository.root}, the checkout of the owner, which is not the workspace`,
        ]),
    ...(ignoredFiles.length === 0 ? [] : [`it wrote ${namedOf(ignoredFiles.map(visibleText))}, which git ignores`]),
    ...(emptyFolders.length === 0
      ? []
      : [`it made ${namedOf(emptyFolders.map(visibleText))}, and git keeps no empty folder: it needs a file`]),
  ]
  const leftOut = collected?.leftOut ?? []
  return {
    kind: 'noChange',
    because,
    tree: run.tree ?? '',
    ...(leftOut.length === 0 ? {} : { leftOut }),
    ...(elsewhere.length === 0 ? {} : { elsewhere }),
  } as const
}

/**
 * Checks that pass without a change, or cannot run, do not tell a finished task from one that was never started. So
 * the agent is asked once more, and a second "nothing to do" is accepted.
 */
const askAgentAgain = async (runContext: RunContext, because: string): Promise<PhaseResult | undefined> => {
  // There is no agent to ask; a person who gives back unchanged work did so on purpose.
  if (needsNoAgent(runContext.task)) return undefined
  const { diagnosis, step } = await chooseStoredRecovery(
    runContext.context,
    runContext.run,
    unchangedBecause(runContext, because),
  )
  return step.kind === 'recover' ? carryOut(runContext, { diagnosis, step }) : undefined
}

/** What the agent says of its turn that does not fit "nothing had to be done". */
const contradictionIn = (runContext: RunContext): string | undefined => {
  if (needsNoAgent(runContext.task)) return undefined
  const words = wordsOfTurn(runContext)
  const quoted = (text: string): string => `its agent says "${oneLine(runContext.context, text, longestWords)}"`
  const unable = inabilityInWords(words)
  if (unable !== undefined) return quoted(unable)
  const claimed = claimInWords(words)
  return claimed === undefined ? undefined : `${quoted(claimed)}, but no file differs`
}

const endUnchanged = async (runContext: RunContext, { report, missing }: CheckedUnchanged): Promise<PhaseResult> => {
  const kept = keptVerdict(runContext.run.verdict)
  const words = oneLine(runContext.context, wordsOfTurn(runContext), longestWords)
  const said = words === '' || needsNoAgent(runContext.task) ? '' : `; it said: "${words}"`
  const because =
    missing.length === 0
      ? 'the agent changed nothing, and every check of the task passes without a change'
      : 'the agent changed nothing, even when asked again, and the checks of the task cannot run here'
  await saveProgress(runContext, {
    phase: 'finish',
    verdict: {
      ...kept,
      ...{ outcome: outcomeOf(report.results, true), noChange: true, checks: report.results },
      notes: [`${because}${said}`, ...leftOutNotes(runContext.collected), ...excludedNotes(kept.excluded ?? [])],
      dropped: [...kept.dropped, ...missing],
    },
  })
  runContext.context.at('verified')
  return 'on'
}

/**
 * An agent that finds its environment broken often changes nothing and proposes a command. So a failed check is first settled as that of
 * any other work: by what ran before it, by the proposal, and by the install that goes before most proposals.
 */
const repairEnvironment = async (
  runContext: RunContext,
  { results, failed: observed }: JudgedReport,
): Promise<PhaseResult | undefined> => {
  const { context, run } = runContext
  const failed = observed === undefined ? undefined : await withRepairFacts(runContext, observed)
  const seen = { results, ...defined({ failed }) }
  if (failed === undefined) await dropNeedless(runContext)
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await resolveRepairs(tx, runContext, seen)
    await resolveProposed(tx, runContext, seen)
  })
  if (failed === undefined) return undefined
  const decision = await chooseStoredRecovery(context, run, { kind: 'check', check: failed })
  const own = await followOwn(runContext, failed, decision, { source: 'verification' })
  if (own !== undefined) return own
  const { diagnosis, step } = decision
  const proposed = await considerProposal(runContext, { failed, diagnosis }, step)
  if (proposed !== undefined) return proposed
  return step.kind === 'recover' && step.action.type === 'install'
    ? carryOut(runContext, { diagnosis, step })
    : undefined
}

export interface UnchangedWork {
  planned: PlannedChecks
  dropped: Verdict['dropped']
  check: (planned: PlannedChecks) => Promise<JudgedReport>
}

/** An earlier attempt finished, and the task is done again, for example because its work does not fit a newer base. */
const hadFinishedWork = async ({ context, run, task }: RunContext): Promise<boolean> =>
  !needsNoAgent(task) &&
  (await listRuns(context.db, { taskId: task.id })).some(
    ({ number, state, commit }) => number < run.number && state === 'success' && commit !== null,
  )

/** Phase `verify` for a turn without a change: stores the verdict, or asks the agent once more. */
export const verifyUnchanged = async (
  runContext: RunContext,
  { planned, dropped, check }: UnchangedWork,
): Promise<PhaseResult> => {
  const asked = requestedChecks(runContext, planned)
  const said = contradictionIn(runContext)
  const doubt = async (...because: string[]): Promise<PhaseResult> => {
    await resolveWork(runContext, { satisfied: false, detail: 'the agent again ended without a change' })
    const all = said === undefined ? because : [...because, said]
    return recover(runContext, unchangedBecause(runContext, all.join('; ')))
  }
  // Its parent has finished work, which would be lost with it: no check proves that this was right.
  if (isAutoFix(runContext.task)) return doubt('nothing is left of the work that it corrects')
  if (await hadFinishedWork(runContext)) return doubt('nothing is left of its finished work')
  if (asked.commands.length === 0)
    return doubt('the task has no check of its own that could show that nothing had to be done')
  const [gone] = dropped
  if (gone !== undefined) return doubt(`its check "${gone.command}" was dropped`)
  const checked = await runPossible(runContext, asked, check)
  if (isReleased(runContext)) return 'ended'
  const repaired = await repairEnvironment(runContext, checked.report)
  if (repaired !== undefined) return repaired
  const because = doubtOf(checked.report)
  if (because !== undefined) return doubt(because)
  const [missing] = checked.missing
  const passing = 'its checks pass without a change, so they do not prove that the task is done'
  const again = await askAgentAgain(runContext, missing?.reason ?? passing)
  if (again !== undefined) return again
  if (said !== undefined) return doubt()
  await resolveWork(runContext, {
    satisfied: false,
    detail: `asked again, the agent changed nothing${missing === undefined ? '; its checks pass as they are, so the task counts as done' : ', and its checks cannot run here'}`,
  })
  await runContext.context.db.transaction(async (tx) => {
    await requireLease(tx, runContext.run)
    await resolveFeedback(tx, runContext, checked.report)
    // Phase `policy` does not follow, and nothing outside the task is left.
    await resolvePaths(tx, runContext, [])
  })
  return endUnchanged(runContext, checked)
}
