/**
 * A run that goes on with a proposed command after a person's answer or after the cooldown. The work is there already, so it is checked
 * again without a turn of an agent.
 */
import type { RecoveryProposal } from '../../domain/recovery-proposal.ts'
import { proposedCommandOf, type Proposal } from '../../recovery/proposal/proposal.ts'
import { executionsOf, moveProposal, proposalsOf } from '../../store/recovery-proposal.ts'
import { listRuns, requireLease } from '../../store/run.ts'
import { attemptBefore } from '../agent/resume-from.ts'
import type { RunContext } from '../core/run-context.ts'
import { chooseStoredRecovery, recordIntent } from '../core/store-record.ts'
import { proposalsOn } from './take-proposal.ts'

/** The newest proposal with which the task goes on; undefined = none. */
const awaited = async ({ context, run }: RunContext): Promise<RecoveryProposal | undefined> => {
  const last = (await proposalsOf(context.db, { taskId: run.taskId })).at(-1)
  if (last === undefined || last.runId === run.id) return last
  if (last.state === 'approved' || last.state === 'waiting') return last
  if (last.state !== 'resolved' || last.decidedBy === 'unstuck') return undefined
  // Solved by hand: that counts for the run after the question, not for every later one.
  const before = attemptBefore(await listRuns(context.db, { taskId: run.taskId }), run.number)
  const ranIn = (await executionsOf(context.db, { proposalId: last.id })).map(({ runId }) => runId)
  return before !== undefined && [last.runId, ...ranIn].includes(before.id) ? last : undefined
}

const intendApproved = async (runContext: RunContext, proposal: RecoveryProposal): Promise<void> => {
  const { context, run } = runContext
  const proposed = proposedCommandOf(proposal.body as Proposal, proposal.approvedStep ?? 'primary')
  if (proposed === undefined) return
  const { command, step: which, workingDir, timeoutSeconds } = proposed
  const { diagnosis, step } = await chooseStoredRecovery(context, run, {
    ...{ kind: 'approvedProposal', proposal: proposal.id, step: which, command, workingDir, timeoutSeconds },
    ...{ approvedBy: proposal.decidedBy ?? 'a person', check: proposal.failing.command },
    signature: proposal.failing.signature,
  })
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await moveProposal(tx, proposal.id, { from: ['approved'], to: 'approved', runId: run.id })
    if (step.kind === 'recover') await recordIntent(context, tx, run, { diagnosis, step })
  })
  context.at('recovery-intended')
}

/** Part of phase `prepare`. True = the work is checked again as it is. It can be repeated after a crash. */
export const continueProposal = async (runContext: RunContext): Promise<boolean> => {
  const { context, goal, run } = runContext
  if (!proposalsOn(runContext)) return false
  const proposal = await awaited(runContext)
  if (proposal === undefined) return false
  if (proposal.state === 'approved' && proposal.runId !== run.id) await intendApproved(runContext, proposal)
  if (proposal.state === 'waiting')
    await context.db.transaction(async (tx) => {
      await requireLease(tx, run)
      await moveProposal(tx, proposal.id, { from: ['waiting'], to: 'open', runId: run.id })
    })
  // In direct mode the earlier work is part of the base of this run, so nothing would be left to check.
  return goal.repoMode !== 'direct'
}
