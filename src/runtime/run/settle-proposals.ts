/** Decides by the results of the checks whether the proposed commands that ran before them helped. */
import type { RecoveryExecution } from '../../domain/recovery-proposal.ts'
import { isEvidence, type CheckResult } from '../../domain/run.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import {
  appendResolved,
  executionsOf,
  getProposal,
  moveProposal,
  proposalsOf,
  settleExecution,
} from '../../store/recovery-proposal.ts'
import type { RunContext } from '../core/run-context.ts'
import { resolveOpenOf } from '../core/store-record.ts'
import { dropUnread } from './take-proposal.ts'

interface Observed {
  results: readonly CheckResult[]
  failed?: ObservedCheck
}

interface Effect {
  satisfied: boolean
  detail: string
}

/** The check passes, or it runs and fails on its own, not as before the command. `setup`: the owner's set-up, which is reported only when it fails. */
const helpedBy = (
  { command, signature, mustPass }: { command: string; signature: string; mustPass?: true },
  { results, failed }: Observed,
  setup: string | undefined,
): Effect => {
  if (failed?.command === command) {
    const now = diagnose({ kind: 'check', check: failed })
    if (mustPass === true) return { satisfied: false, detail: `${command} still fails: ${now.evidence}` }
    const runs = now.category === 'test' && now.signature !== signature
    return {
      satisfied: runs,
      detail: `${command} ${runs ? 'runs now and fails on its own' : now.signature === signature ? 'fails as before' : 'still cannot run'}: ${now.evidence}`,
    }
  }
  const result = results.find((check) => check.command === command)
  if (result !== undefined)
    return {
      satisfied: isEvidence(result),
      detail: `${command} ran and ${isEvidence(result) ? 'passed' : 'checked nothing'}`,
    }
  if (command === setup) return { satisfied: true, detail: `${command} passed` }
  return { satisfied: failed === undefined, detail: `it was not reached: ${failed?.command ?? 'nothing'} failed` }
}

/** A command that ran and whose effect was not observed yet. What is repeated was observed before. */
const isUnjudged = ({ effect, state, repetition }: RecoveryExecution): boolean =>
  effect === null && !repetition && (state === 'succeeded' || state === 'failed')

/** Also where the command did not run, so that the proposal is decided again. */
const settle = async (
  tx: Queryable,
  { proposal, step }: { proposal: string; step: string },
  { satisfied, detail }: Effect,
  ran: readonly RecoveryExecution[],
): Promise<void> => {
  for (const { id, proposalId, step: which } of ran)
    if (proposalId === proposal && which === step) await settleExecution(tx, id, satisfied, detail)
  const found = await getProposal(tx, proposal)
  if (found === undefined || (found.state !== 'open' && found.state !== 'approved')) return
  if (satisfied) mustSucceed(await moveProposal(tx, found, 'helped'))
  else if (found.state === 'approved') mustSucceed(await moveProposal(tx, found, 'had_no_effect'))
}

const notNeeded = { by: 'unstuck', method: 'not_needed', note: 'the checks pass without it' }

/** The checks pass without the proposals that nobody decided about. */
const dropUnneeded = async (tx: Queryable, { run }: RunContext): Promise<void> => {
  const { by, note } = notNeeded
  for (const proposal of await proposalsOf(tx, { taskId: run.taskId })) {
    if (proposal.state !== 'open' && proposal.state !== 'approved') continue
    const moved = mustSucceed(await moveProposal(tx, proposal, 'not_needed', { decidedBy: by, note }))
    await appendResolved(tx, moved, notNeeded)
  }
}

/** The checks pass, so a proposal that was left is not read. Before the result is stored, because that is not repeated. */
export const dropNeedless = (runContext: RunContext): Promise<void> => dropUnread(runContext, notNeeded)

export const resolveProposed = async (tx: Queryable, runContext: RunContext, seen: Observed): Promise<void> => {
  const { context, task } = runContext
  const ran = (await executionsOf(tx, { taskId: task.id })).filter(isUnjudged)
  const judged: { of: { proposal: string; step: string }; effect: Effect }[] = []
  await resolveOpenOf(tx, task.id, (condition, { action }) => {
    if (condition.type !== 'proposal_helps') return undefined
    const of = { proposal: String(action['proposal']), step: String(action['step']) }
    const hasRun = ran.some(({ proposalId, step }) => proposalId === of.proposal && step === of.step)
    const effect = hasRun
      ? helpedBy(condition, seen, context.config().workspace.setup)
      : { satisfied: false, detail: 'the command did not run' }
    judged.push({ of, effect })
    return effect
  })
  for (const { of, effect } of judged) await settle(tx, of, effect, ran)
  if (seen.failed === undefined) await dropUnneeded(tx, runContext)
}
