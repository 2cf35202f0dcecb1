/**
 * A turn that ended well and changed nothing. That is done only if checks that somebody asked for show that nothing had to
 * be done; those that were inferred from the repository pass whatever the task is about.
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

/** Decides the recoveries that wait for work to appear. */
export const settleWork = (session: Session, seen: { holds: boolean; detail: string }): Promise<void> =>
  session.context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await settleOpen(tx, session.task.id, (condition) => (condition.type === 'work_appears' ? seen : undefined))
  })

const askedOf = ({ task }: Session, planned: PlannedChecks): PlannedChecks => ({
  ...planned,
  commands: planned.commands.filter(
    (command) => task.commandSource !== 'inferred' || planned.fromContract.has(command),
  ),
})

/** Why the checks do not show that nothing had to be done; undefined = they do. */
const doubtOf = (report: HonestReport): string | undefined => {
  const failed = report.failed?.command ?? report.results.find((check) => !proves(check))?.command
  const listed = report.results.find(({ excused }) => excused?.because === 'fails on the base commit')?.command
  const command = failed ?? listed
  return command === undefined ? undefined : `${command} does not pass`
}

/** A script or target that is not there, now or on the base commit: it says nothing about work, and no agent can be blamed. */
const isMissing = (check: ObservedCheck): boolean => {
  const { label, facts } = diagnose({ kind: 'check', check })
  return (label === 'missing_script' || label === 'missing_make_target') && facts.droppable === true
}

interface Looked {
  report: HonestReport
  /** What cannot be run here, and was left out. */
  missing: Verdict['dropped']
}

/** Runs the checks, without those that cannot be run here. */
const lookWithout = async (session: Session, asked: PlannedChecks, check: Unchanged['check']): Promise<Looked> => {
  const missing: Verdict['dropped'] = []
  for (let left = asked; ;) {
    const report = await check(left)
    const failed = report.failed === undefined ? undefined : await withFacts(session, report.failed)
    if (letGo(session) || failed === undefined || !isMissing(failed)) return { report, missing }
    missing.push({ command: failed.command, reason: diagnose({ kind: 'check', check: failed }).evidence })
    left = { ...left, commands: left.commands.filter((command) => command !== failed.command) }
  }
}

/** With what was changed and left out: an agent that is told "no change" would write it at the same place again. */
const unchangedBecause = ({ run, collected }: Session, because: string) => {
  const leftOut = collected?.leftOut ?? []
  return { kind: 'noChange', because, tree: run.tree ?? '', ...(leftOut.length === 0 ? {} : { leftOut }) } as const
}

/**
 * Checks that pass without a change, or that cannot run, do not tell a task that was done before from one that was not begun,
 * so the agent is asked once. Its second "nothing to do" is believed.
 */
const askAgain = async (session: Session, because: string): Promise<Next | undefined> => {
  // A person who gives back nothing means it.
  if (isGivenBack(session.task)) return undefined
  const { diagnosis, step } = await decide(session.context, session.run, unchangedBecause(session, because))
  return step.kind === 'recover' ? carryOut(session, { diagnosis, step }) : undefined
}

const endUnchanged = async (session: Session, { report, missing }: Looked): Promise<Next> => {
  const kept = keptVerdict(session.run.verdict)
  const note =
    missing.length === 0
      ? 'the agent changed nothing, and every check that was asked for passes without a change'
      : 'the agent changed nothing, also when it was asked again, and what was to check that cannot run here'
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

/** Phase `verify` of work without a change: the verdict is its end, or the agent is asked once more. */
export const verifyUnchanged = async (session: Session, { planned, dropped, check }: Unchanged): Promise<Next> => {
  const asked = askedOf(session, planned)
  const doubt = async (because: string): Promise<Next> => {
    await settleWork(session, { holds: false, detail: 'it ended without a change again' })
    return recover(session, unchangedBecause(session, because))
  }
  if (asked.commands.length === 0) return doubt('no check was asked for that could show that nothing had to be done')
  const [gone] = dropped
  if (gone !== undefined) return doubt(`${gone.command} is not looked at any more`)
  const looked = await lookWithout(session, asked, check)
  if (letGo(session)) return 'ended'
  const because = doubtOf(looked.report)
  if (because !== undefined) return doubt(because)
  const [missing] = looked.missing
  const passing = 'its checks pass without a change, so they do not show whether the task is done'
  const again = await askAgain(session, missing?.reason ?? passing)
  if (again !== undefined) return again
  await settleWork(session, {
    holds: false,
    detail: `asked again, it changed nothing, and its checks ${missing === undefined ? 'pass as they are' : 'cannot run here'}`,
  })
  await session.context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await settleFeedback(tx, session, looked.report)
  })
  return endUnchanged(session, looked)
}
