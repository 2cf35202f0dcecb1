/** The proposal that a diagnosis writes where the agent left none: see src/recovery/proposal/known-repairs.ts. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { RecoveryProposal } from '../../domain/recovery-proposal.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { decideProposal } from '../../recovery/proposal/decide.ts'
import { knownRepair, type KnownRepair } from '../../recovery/proposal/known-repairs.ts'
import type { Diagnosis } from '../../recovery/types.ts'
import { appendProposed, insertProposal } from '../../store/recovery-proposal.ts'
import { storeNow } from '../../store/event.ts'
import { requireLease } from '../../store/run.ts'
import { manifestScripts } from '../checks/repair-facts.ts'
import { readIfFile } from '../core/files.ts'
import { checkedTreeOf, type RunContext } from '../core/run-context.ts'
import { proposalIteration, outputOf } from './take-proposal.ts'

const repairOf = (
  runContext: RunContext,
  { failed, diagnosis }: { failed: ObservedCheck; diagnosis: Diagnosis },
  now: Date,
): KnownRepair | undefined => {
  const installs = failed.installs ?? []
  const { files } = runContext.context.ports
  const manifest = readIfFile(files, join(checkedTreeOf(runContext), installs[0]?.folder ?? '', 'package.json'))
  return knownRepair(
    {
      ...{ label: diagnosis.label, evidence: diagnosis.evidence, output: outputOf(failed), command: failed.command },
      ...{ installs, scripts: Object.keys(manifestScripts(manifest)) },
    },
    now,
  )
}

/**
 * A new proposal with the known repair of this failure. A command that the owner did not allow is proposed only if nothing else is
 * left (`isLast`): until then the agent may solve the problem itself, without a person. Undefined = none, or it was proposed before.
 */
export const proposeKnown = async (
  runContext: RunContext,
  failure: { failed: ObservedCheck; diagnosis: Diagnosis },
  isLast: boolean,
): Promise<RecoveryProposal | undefined> => {
  const { context, run } = runContext
  const settings = context.config().recovery
  const known = repairOf(runContext, failure, await storeNow(context.db))
  if (settings === undefined || known === undefined) return undefined
  const { proposal, caution } = known
  const flag = caution === undefined ? undefined : ({ flag: 'caution', detail: caution } as const)
  const decision = decideProposal(proposal.recovery.command, settings, { flag, secret: undefined })
  if (decision.kind === 'refuse' || (decision.kind === 'ask' && !isLast)) return undefined
  const { signature } = failure.diagnosis
  // Without the time, so that the same repair is proposed once for a task and its failure.
  const digest = createHash('sha256').update(`${signature}\0${proposal.recovery.command}`).digest('hex')
  return context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    const stored = await insertProposal(tx, {
      ...{
        id: context.newId('p'),
        goalId: run.goalId,
        taskId: run.taskId,
        runId: run.id,
        iteration: proposalIteration(run),
      },
      ...{ digest, source: 'diagnosis', body: proposal, offsetStated: 'Z', problem: null, flag: flag ?? null },
      failing: { command: failure.failed.command, signature },
    })
    if (stored !== undefined) await appendProposed(tx, stored, { category: proposal.category, ...proposal.recovery })
    return stored
  })
}
