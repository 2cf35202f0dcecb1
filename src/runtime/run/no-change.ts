/**
 * A turn that ended well and changed nothing. That is done only if checks that somebody asked for show that nothing had to
 * be done; those that were inferred from the repository pass whatever the task is about.
 */
import { keptVerdict, proves, type Verdict } from '../../domain/run.ts'
import { holdLease } from '../../store/run.ts'
import { carryOut, recover } from './carry-out.ts'
import { settleFeedback } from './feedback.ts'
import type { Next } from './phase.ts'
import type { HonestReport } from '../checks/honest-checks.ts'
import { decide, settleOpen } from '../core/store-record.ts'
import { letGo, save, type Session } from '../core/session.ts'
import type { PlannedChecks } from '../checks/verify-contract.ts'

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

/**
 * Checks that pass without a change do not tell a task that was done before from one that was not begun, so the agent is
 * asked once. Its second "nothing to do" is believed.
 */
const askAgain = async (session: Session): Promise<Next | undefined> => {
  const because = 'its checks pass without a change, so they do not show whether the task is done'
  const evidence = { kind: 'noChange', because, tree: session.run.tree ?? '' } as const
  const { diagnosis, step } = await decide(session.context, session.run, evidence)
  return step.kind === 'recover' ? carryOut(session, { diagnosis, step }) : undefined
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
    const leftOut = (session.collected?.leftOut ?? []).map(({ path, reason }) => `${path}: ${reason}`)
    const all = [because, ...leftOut].join('; ')
    return recover(session, { kind: 'noChange', because: all, tree: session.run.tree ?? '' })
  }
  if (asked.commands.length === 0) return doubt('no check was asked for that could show that nothing had to be done')
  const [gone] = dropped
  if (gone !== undefined) return doubt(`${gone.command} is not looked at any more`)
  const report = await check(asked)
  if (letGo(session)) return 'ended'
  const because = doubtOf(report)
  if (because !== undefined) return doubt(because)
  const again = await askAgain(session)
  if (again !== undefined) return again
  await settleWork(session, {
    holds: false,
    detail: 'asked again, it changed nothing, and its checks pass as they are',
  })
  await session.context.db.transaction(async (tx) => {
    await holdLease(tx, session.run)
    await settleFeedback(tx, session, report)
  })
  await save(session, {
    phase: 'finish',
    verdict: {
      ...keptVerdict(session.run.verdict),
      outcome: 'verified',
      noChange: true,
      checks: report.results,
      notes: ['the agent changed nothing, and every check that was asked for passes without a change'],
    },
  })
  session.context.at('verified')
  return 'on'
}
