/**
 * A run that goes on with proposed commands: after a person's answer, after the cooldown, or in place of a run that was lost while it
 * decided. The work is there already, so it is checked again without a turn of an agent.
 */
import type { RecoveryProposal } from '../../domain/recovery-proposal.ts'
import { proposedCommandOf, type Proposal } from '../../recovery/proposal/proposal.ts'
import { recoveriesOf } from '../../store/recovery.ts'
import { adoptProposal, executionsOf, proposalsOf } from '../../store/recovery-proposal.ts'
import { listRuns, requireLease } from '../../store/run.ts'
import { attemptBefore } from '../agent/resume-from.ts'
import type { RunContext } from '../core/run-context.ts'
import { chooseStoredRecovery, recordIntent } from '../core/store-record.ts'
import { proposalsOn } from './take-proposal.ts'

/** Solved by hand: that counts for the run after the question, not for every later one. */
const isSolved = async ({ context, run }: RunContext, proposals: readonly RecoveryProposal[]): Promise<boolean> => {
  const solved = proposals.findLast(({ state, decidedBy }) => state === 'resolved' && decidedBy !== 'unstuck')
  if (solved === undefined) return false
  const before = attemptBefore(await listRuns(context.db, { taskId: run.taskId }), run.number)
  const ranIn = (await executionsOf(context.db, { proposalId: solved.id })).map(({ runId }) => runId)
  return before !== undefined && [solved.runId, ...ranIn].includes(before.id)
}

/** The recovery that runs the approved command; undefined = a lost run stored it already. */
const chosenFor = async ({ context, run }: RunContext, proposal: RecoveryProposal) => {
  const isStored = (await recoveriesOf(context.db, run.taskId)).some(
    ({ status, action }) => status === 'acting' && action['proposal'] === proposal.id,
  )
  const proposed = proposedCommandOf(proposal.body as Proposal, proposal.approvedStep ?? 'primary')
  if (isStored || proposed === undefined) return undefined
  const { command, step: which, workingDir, timeoutSeconds } = proposed
  const { diagnosis, step } = await chooseStoredRecovery(context, run, {
    ...{ kind: 'approvedProposal', proposal: proposal.id, step: which, command, workingDir, timeoutSeconds },
    ...{ approvedBy: proposal.decidedBy ?? 'a person', check: proposal.failing.command },
    signature: proposal.failing.signature,
  })
  return step.kind === 'recover' ? { diagnosis, step } : undefined
}

const adopt = async (runContext: RunContext, proposal: RecoveryProposal): Promise<void> => {
  const { context, run } = runContext
  if (proposal.runId === run.id) return // in an earlier pass of this phase
  const chosen = proposal.state === 'approved' ? await chosenFor(runContext, proposal) : undefined
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await adoptProposal(tx, proposal.id, run.id)
    if (chosen !== undefined) await recordIntent(context, tx, run, chosen)
  })
  context.at('recovery-intended')
}

/** Part of phase `prepare`. True = the work is checked again as it is. It can be repeated after a crash. */
export const continueProposal = async (runContext: RunContext): Promise<boolean> => {
  const { context, goal, run } = runContext
  if (!proposalsOn(runContext)) return false
  const proposals = await proposalsOf(context.db, { taskId: run.taskId })
  const awaited = proposals.filter(({ state }) => state === 'approved' || state === 'open')
  for (const proposal of awaited) await adopt(runContext, proposal)
  if (awaited.length === 0 && !(await isSolved(runContext, proposals))) return false
  // In direct mode the earlier work is part of the base of this run, so nothing would be left to check.
  return goal.repoMode !== 'direct'
}
