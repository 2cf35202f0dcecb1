/** The run ends with a question about a proposed command. One transaction, as every ending: the task waits, and other work goes on. */
import type { RecoveryProposal } from '../../domain/recovery-proposal.ts'
import type { Diagnosis } from '../../recovery/types.ts'
import { mustSucceed } from '../../store/db.ts'
import { openEscalation } from '../../store/escalation.ts'
import { appendEvent } from '../../store/event.ts'
import { appendEscalated, moveProposal } from '../../store/recovery-proposal.ts'
import { moveTask } from '../../store/task.ts'
import { keepSnapshot } from '../agent/stop-agent.ts'
import { proposalQuestion, type ProposalAsked } from '../core/proposal-question.ts'
import type { RunContext } from '../core/run-context.ts'
import { failOpenRecoveries } from '../core/store-record.ts'
import { closeRun, errorMetaOf, freshTask } from './endings.ts'
import type { PhaseResult } from './phase.ts'

export const endWithProposal = async (
  runContext: RunContext,
  proposal: RecoveryProposal,
  { diagnosis, ...asked }: Omit<ProposalAsked, 'evidence' | 'place'> & { diagnosis: Diagnosis },
): Promise<PhaseResult> => {
  const { context, goal, task, run } = runContext
  const { kind, reason, proposed } = asked
  const about = { goalId: goal.id, taskId: task.id, runId: run.id }
  await keepSnapshot(runContext, 'before a question about a proposed command')
  await context.db.transaction(async (tx) => {
    await failOpenRecoveries(tx, task.id, reason)
    await closeRun(tx, runContext, 'failed', errorMetaOf(diagnosis, { source: 'verification' }))
    mustSucceed(
      await moveTask(tx, await freshTask(tx, runContext), 'escalated', {
        runId: run.id,
        payload: { label: diagnosis.label, reason },
      }),
    )
    mustSucceed(
      await moveProposal(tx, proposal, 'escalated', proposed === undefined ? {} : { approvedStep: proposed.step }),
    )
    const place = goal.repoMode === 'direct' ? 'folder' : 'clone'
    const question = proposalQuestion(proposal, task, { ...asked, place, evidence: diagnosis.evidence })
    await openEscalation(tx, { id: context.newId('q'), ...about, ...question })
    await appendEscalated(tx, about, kind === 'invalid_proposal' ? `invalid_proposal: ${reason}` : reason)
    await appendEvent(tx, {
      type: 'task.recovery_escalated',
      ...about,
      payload: { reason: kind, label: diagnosis.label, evidence: diagnosis.evidence },
    })
  })
  return 'ended'
}
