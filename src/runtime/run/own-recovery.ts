/** What a failed check does with the playbooks of the owner: they go before the built-in ones and before what an agent proposes. */
import { createHash } from 'node:crypto'
import type { RecoveryProposal } from '../../domain/recovery-proposal.ts'
import type { ErrorMeta } from '../../domain/run.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { ownId, postConditionOf } from '../../recovery/own/own-playbook.ts'
import { ownProposal } from '../../recovery/own/own-proposal.ts'
import { isOwnStep, type OwnCommand } from '../../recovery/own/own-step.ts'
import type { Diagnosis } from '../../recovery/types.ts'
import { storeNow } from '../../store/event.ts'
import { proposalsOf } from '../../store/recovery-proposal.ts'
import { requireLease } from '../../store/run.ts'
import type { RecoveryDecision } from '../core/recovery-record.ts'
import type { RunContext } from '../core/run-context.ts'
import { carryOut, endUnrecovered } from './carry-out.ts'
import { considerOwn } from './decide-proposal.ts'
import { isIterationTest } from './loop/iteration-tests.ts'
import type { PhaseResult } from './phase.ts'
import { resolveRemaining } from './resolve-feedback.ts'
import { proposalsOn, readsProposal, stepsRun, storeProposal } from './take-proposal.ts'

interface Failed {
  failed: ObservedCheck
  diagnosis: Diagnosis
}

/** The proposals of this command for the task that playbooks of the owner made. */
const earlierOf = async ({ context, run }: RunContext, command: string): Promise<RecoveryProposal[]> =>
  (await proposalsOf(context.db, { taskId: run.taskId })).filter(
    ({ source, body }) =>
      source === 'playbook' && (body?.recovery as { command?: string } | undefined)?.command === command,
  )

/** Kept over the wait for the end of the cooldown. */
const keptOf = async (
  { context, run }: RunContext,
  earlier: readonly RecoveryProposal[],
): Promise<RecoveryProposal | undefined> => {
  for (const proposal of earlier)
    if (proposal.runId === run.id && proposal.state === 'open' && (await stepsRun(context.db, proposal)).size === 0)
      return proposal
  return undefined
}

/** The proposal of this attempt; undefined = it was made before, or a person refused this command for the task. */
const propose = async (
  runContext: RunContext,
  { failed, diagnosis }: Failed,
  command: OwnCommand,
): Promise<RecoveryProposal | undefined> => {
  const { context, run } = runContext
  const earlier = await earlierOf(runContext, command.action.command)
  if (earlier.some(({ state, decidedBy }) => state === 'rejected' && decidedBy !== null)) return undefined
  const kept = await keptOf(runContext, earlier)
  if (kept !== undefined) return kept
  const body = ownProposal(command, failed.command, await storeNow(context.db))
  const digest = createHash('sha256')
    .update(`${ownId(command.name)}\0${run.id}\0${command.attempt}`)
    .digest('hex')
  return storeProposal(runContext, {
    ...{ digest, source: 'playbook', body, offsetStated: 'Z', problem: null, flag: null },
    failing: { command: failed.command, signature: diagnosis.signature },
  })
}

const runCommand = async (
  runContext: RunContext,
  failure: Failed,
  command: OwnCommand,
): Promise<PhaseResult | undefined> => {
  if (!readsProposal(runContext.run) || !proposalsOn(runContext)) return undefined
  const proposal = await propose(runContext, failure, command)
  if (proposal === undefined) return undefined
  const mustPass = postConditionOf(command.playbook) === 'check_passes'
  return considerOwn(runContext, { proposal, diagnosis: failure.diagnosis }, { id: ownId(command.name), mustPass })
}

/** Undefined = the owner has no playbook for it, or none that applies now. In a loop the tester sees the failure first. */
export const followOwn = async (
  runContext: RunContext,
  failed: ObservedCheck,
  decision: RecoveryDecision,
  extra: Partial<ErrorMeta> = {},
): Promise<PhaseResult | undefined> => {
  const { context, run } = runContext
  const { diagnosis, step, proposes } = decision
  if (isIterationTest(run)) return undefined
  const ran = proposes === undefined ? undefined : await runCommand(runContext, { failed, diagnosis }, proposes)
  if (ran !== undefined || !isOwnStep(step)) return ran
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await resolveRemaining(tx, runContext, { holds: false, detail: `${failed.command} failed as well` })
  })
  return step.kind === 'recover'
    ? carryOut(runContext, { diagnosis, step })
    : endUnrecovered(runContext, { diagnosis, step }, extra)
}
