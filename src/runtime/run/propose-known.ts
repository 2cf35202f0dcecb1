/** The proposal that a diagnosis writes where the agent left none: see src/recovery/proposal/known-repairs.ts. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { RecoveryProposal } from '../../domain/recovery-proposal.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import { decideProposal } from '../../recovery/proposal/decide.ts'
import { knownRepair, nodeInstallIn, type KnownRepair } from '../../recovery/proposal/known-repairs.ts'
import { diagnose } from '../../recovery/diagnosis.ts'
import type { Diagnosis } from '../../recovery/types.ts'
import { storeNow } from '../../store/event.ts'
import { manifestScripts } from '../checks/manifest-scripts.ts'
import { readIfFile } from '../core/files.ts'
import { checkedTreeOf, type RunContext } from '../core/run-context.ts'
import { outputOf, storeProposal } from './take-proposal.ts'

const repairOf = (
  runContext: RunContext,
  { failed, diagnosis }: { failed: ObservedCheck; diagnosis: Diagnosis },
  now: Date,
): KnownRepair | undefined => {
  const install = nodeInstallIn(failed.installs ?? [])
  if (install === undefined) return undefined
  const { files } = runContext.context.ports
  const manifest = readIfFile(files, join(checkedTreeOf(runContext), install.folder, 'package.json'))
  return knownRepair(
    {
      ...{ label: diagnosis.label, evidence: diagnosis.evidence, output: outputOf(failed), command: failed.command },
      ...{ install, scripts: Object.keys(manifestScripts(manifest)) },
    },
    now,
  )
}

/** Whether the known repair of this failure is a build that the owner lets run: it is proposed then. */
export const buildsByProposal = async (runContext: RunContext, failed: ObservedCheck): Promise<boolean> => {
  const { context } = runContext
  const settings = context.config().recovery
  if (settings === undefined) return false
  const diagnosis = diagnose({ kind: 'check', check: failed })
  const known = repairOf(runContext, { failed, diagnosis }, await storeNow(context.db))
  const command = known?.proposal.recovery.command ?? ''
  return command.endsWith(' run build') && decideProposal(command, settings, undefined).kind === 'run'
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
  const { context } = runContext
  const settings = context.config().recovery
  const known = repairOf(runContext, failure, await storeNow(context.db))
  if (settings === undefined || known === undefined) return undefined
  const { proposal, caution } = known
  const flag = caution === undefined ? undefined : ({ flag: 'caution', detail: caution } as const)
  const decision = decideProposal(proposal.recovery.command, settings, flag)
  if (decision.kind === 'refuse' || (decision.kind === 'ask' && !isLast)) return undefined
  const { signature } = failure.diagnosis
  // Without the time, so that the same repair is proposed once for a task and its failure.
  const digest = createHash('sha256').update(`${signature}\0${proposal.recovery.command}`).digest('hex')
  return storeProposal(runContext, {
    ...{ digest, source: 'diagnosis', body: proposal, offsetStated: 'Z', problem: null, flag: flag ?? null },
    failing: { command: failure.failed.command, signature },
  })
}
