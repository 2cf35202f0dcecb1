/** The engine ended while a proposed command ran: a person tells whether it may run again. */
import { proposedCommandOf, type Proposal } from '../../recovery/proposal/proposal.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import { getProposal } from '../../store/recovery-proposal.ts'
import type { RunContext } from '../core/run-context.ts'
import { endWithProposal } from './end-proposal.ts'
import type { PhaseResult } from './phase.ts'
import type { UnknownOutcome } from './run-proposal.ts'

/** Nothing is replayed by itself: a package manager runs scripts of packages, and no list says which commands may run twice. */
export const endUnknownOutcome = async (
  runContext: RunContext,
  { execution }: UnknownOutcome,
): Promise<PhaseResult> => {
  const { proposalId, step, command, workingDir, timeoutSeconds, approvedBy } = execution
  const proposal = await getProposal(runContext.context.db, proposalId)
  if (proposal === undefined) throw new Error(`the proposal ${proposalId} is gone from the store`)
  const { command: check, signature } = proposal.failing
  const place = { command, workingDir, timeoutSeconds }
  return endWithProposal(runContext, proposal, {
    ...{ kind: 'recovery_unknown_outcome', reason: 'the engine ended between its start and its outcome' },
    proposed: proposedCommandOf(proposal.body as Proposal, step),
    diagnosis: diagnose({ kind: 'proposal', proposal: proposalId, step, ...place, approvedBy, check, signature }),
  })
}
