/**
 * Handles a turn that succeeded and changed nothing. The task counts as done only if checks that somebody asked for
 * show that nothing had to be done. Checks inferred from the repository pass whatever the task says, so they prove
 * nothing here.
 */
import { keptVerdict, outcomeOf, proves, type Verdict } from '../../domain/run.ts'
import { isGivenBack } from '../../domain/task.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { holdLease } from '../../store/run.ts'
import { carryOut, recover } from './carry-out.ts'
import { settleFeedback } from './feedback.ts'
import type { Next } from './phase.ts'
import type { HonestReport } from '../checks/honest-checks.ts'
import { withFacts } from '../checks/repair-facts.ts'
import { decide, settleOpen } from '../core/store-record.ts'
import { letGo, save, type Session } from '../core/session.ts'
import type { PlannedChecks } from '../checks/verify-contract.ts'
import { leftOutNotes } from '../agent/collected.ts'

/** Resolves the recoveries whose post-condition is that the agent produces work. */
export const settleWork = (session: Session, seen: { holds: boolean; detail: string }): Promise<void> =>
  session.context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await settleOpen(tx, session.task.id, (condition) => (condition.type === 'work_appears' ? seen : undefined))
  })

const requestedChecks = ({ task }: Session, planned: PlannedChecks): PlannedChecks => ({
  ...planned,
  commands: planned.commands.filter(
    (command) => task.commandSource !== 'inferred' || planned.fromContract.has(command),
  ),
})

/** Why the checks do not prove that nothing had to be done; undefined = they do. */
const doubtOf = (report: HonestReport): string | undefined => {
  const failed = report.failed?.command ?? report.results.find((check) => !proves(check))?.command
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
  report: HonestReport
  /** Checks that were left out because they cannot run here. */
  missing: Verdict['dropped']
}

/** Runs the checks and leaves out those that cannot run here. */
const runPossible = async (
  session: Session,
  asked: PlannedChecks,
  check: Unchanged['check'],
): Promise<CheckedUnchanged> => {
  const missing: Verdict['dropped'] = []
  for (let left = asked; ;) {
    const report = await check(left)
    const failed = report.failed === undefined ? undefined : await withFacts(session, report.failed)
    if (letGo(session) || failed === undefined || !isMissing(failed)) return { report, missing }
    missing.push({ command: failed.command, reason: diagnose({ kind: 'check', check: failed }).evidence })
    left = { ...left, commands: left.commands.filter((command) => command !== failed.command) }
  }
}

/** Names the changes that were left out: an agent that only reads "no change" would write to the same place again. */
const unchangedBecause = ({ run, collected }: Session, because: string) => {
  const leftOut = collected?.leftOut ?? []
  return { kind: 'noChange', because, tree: run.tree ?? '', ...(leftOut.length === 0 ? {} : { leftOut }) } as const
}

/**
 * Checks that pass without a change, or cannot run, do not tell a finished task from one that was never started. So
 * the agent is asked once more, and a second "nothing to do" is accepted.
 */
const askAgentAgain = async (session: Session, because: string): Promise<Next | undefined> => {
  // A person who gives back unchanged work did so on purpose.
  if (isGivenBack(session.task)) return undefined
  const { diagnosis, step } = await decide(session.context, session.run, unchangedBecause(session, because))
  return step.kind === 'recover' ? carryOut(session, { diagnosis, step }) : undefined
}

const endUnchanged = async (session: Session, { report, missing }: CheckedUnchanged): Promise<Next> => {
  const kept = keptVerdict(session.run.verdict)
  const note =
    missing.length === 0
      ? 'the agent changed nothing, and every check of the task passes without a change'
      : 'the agent changed nothing, even when asked again, and the checks of the task cannot run here'
  await save(session, {
    phase: 'finish',
    verdict: {
      ...kept,
      ...{ outcome: outcomeOf(report.results, true), noChange: true, checks: report.results },
      notes: [note, ...leftOutNotes(session.collected)],
      dropped: [...kept.dropped, ...missing],
    },
  })
  session.context.at('verified')
  return 'on'
}

export interface Unchanged {
  planned: PlannedChecks
  dropped: Verdict['dropped']
  check: (planned: PlannedChecks) => Promise<HonestReport>
}

/** Phase `verify` for a turn without a change: stores the verdict, or asks the agent once more. */
export const verifyUnchanged = async (session: Session, { planned, dropped, check }: Unchanged): Promise<Next> => {
  const asked = requestedChecks(session, planned)
  const doubt = async (because: string): Promise<Next> => {
    await settleWork(session, { holds: false, detail: 'the agent again ended without a change' })
    return recover(session, unchangedBecause(session, because))
  }
  if (asked.commands.length === 0)
    return doubt('the task has no check of its own that could show that nothing had to be done')
  const [gone] = dropped
  if (gone !== undefined) return doubt(`its check "${gone.command}" was dropped`)
  const checked = await runPossible(session, asked, check)
  if (letGo(session)) return 'ended'
  const because = doubtOf(checked.report)
  if (because !== undefined) return doubt(because)
  const [missing] = checked.missing
  const passing = 'its checks pass without a change, so they do not prove that the task is done'
  const again = await askAgentAgain(session, missing?.reason ?? passing)
  if (again !== undefined) return again
  await settleWork(session, {
    holds: false,
    detail: `asked again, it changed nothing, and its checks ${missing === undefined ? 'pass as they are' : 'cannot run here'}`,
  })
  await session.context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await settleFeedback(tx, session, checked.report)
  })
  return endUnchanged(session, checked)
}
