/** Decides by the results of the checks whether the proposed commands that ran before them helped. */
import { isEvidence, type CheckResult } from '../../domain/run.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import type { Queryable } from '../../store/db.ts'
import {
  appendResolved,
  executionsOf,
  moveProposal,
  proposalsOf,
  settleExecution,
} from '../../store/recovery-proposal.ts'
import type { RunContext } from '../core/run-context.ts'
import { resolveOpenOf } from '../core/store-record.ts'

interface Observed {
  results: readonly CheckResult[]
  failed?: ObservedCheck
}

/** The check passes, or it runs and fails on its own, not as before the command. */
const helpedBy = (
  { command, signature }: { command: string; signature: string },
  { results, failed }: Observed,
): { satisfied: boolean; detail: string } => {
  if (failed?.command === command) {
    const now = diagnose({ kind: 'check', check: failed })
    const runs = now.category === 'test' && now.signature !== signature
    return {
      satisfied: runs,
      detail: `${command} ${runs ? 'runs now and fails on its own' : now.signature === signature ? 'fails as before' : 'still cannot run'}: ${now.evidence}`,
    }
  }
  const result = results.find((check) => check.command === command)
  if (result === undefined)
    return { satisfied: failed === undefined, detail: `it was not reached: ${failed?.command ?? 'nothing'} failed` }
  return {
    satisfied: isEvidence(result),
    detail: `${command} ran and ${isEvidence(result) ? 'passed' : 'checked nothing'}`,
  }
}

/** The proposals whose command ran in this run and is judged now. */
const settle = async (
  tx: Queryable,
  { run }: RunContext,
  outcomes: ReadonlyMap<string, { satisfied: boolean; detail: string }>,
): Promise<void> => {
  for (const { id, proposalId, state, effect, runId } of await executionsOf(tx, { taskId: run.taskId })) {
    if (runId !== run.id || effect !== null || state === 'started' || state === 'unknown') continue
    const outcome = outcomes.get(proposalId)
    // A repetition in a new clone has no recovery of its own; what it is for was observed before.
    await settleExecution(tx, id, outcome?.satisfied ?? true, outcome?.detail ?? '')
    if (outcome === undefined) continue
    await moveProposal(tx, proposalId, {
      ...{ from: ['open', 'approved'], to: outcome.satisfied ? 'succeeded' : 'open' },
      ...{ runId: run.id },
    })
  }
}

/** The checks pass without the proposals that nobody decided about. */
const dropUnneeded = async (tx: Queryable, { run }: RunContext): Promise<void> => {
  for (const { id, runId, state } of await proposalsOf(tx, { taskId: run.taskId })) {
    if (runId !== run.id || state !== 'open') continue
    const note = 'the checks pass without it'
    const moved = await moveProposal(tx, id, { from: ['open'], to: 'resolved', decidedBy: 'unstuck', note })
    if (moved !== undefined) await appendResolved(tx, moved, { by: 'unstuck', method: 'not_needed', note })
  }
}

export const resolveProposed = async (tx: Queryable, runContext: RunContext, seen: Observed): Promise<void> => {
  if (runContext.context.config().recovery === undefined) return
  const outcomes = new Map<string, { satisfied: boolean; detail: string }>()
  await resolveOpenOf(tx, runContext.task.id, (condition, { action }) => {
    if (condition.type !== 'proposal_helps') return undefined
    const outcome = helpedBy(condition, seen)
    outcomes.set(String(action['proposal']), outcome)
    return outcome
  })
  await settle(tx, runContext, outcomes)
  if (seen.failed === undefined) await dropUnneeded(tx, runContext)
}
