/**
 * What a failed check does with the proposal of the agent: run it, wait for the end of the cooldown, ask a person, or go on without it.
 * A command that the owner listed exactly goes before every built-in repair, any other one after the install.
 */
import type { RecoveryProposal } from '../../domain/recovery-proposal.ts'
import { proposedCommandOf, type Proposal, type ProposedCommand } from '../../recovery/proposal/proposal.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import type { LadderStep } from '../../recovery/ladder.ts'
import type { Diagnosis } from '../../recovery/types.ts'
import { mustSucceed, type Queryable } from '../../store/db.ts'
import { appendResolved, moveProposal } from '../../store/recovery-proposal.ts'
import { requireLease } from '../../store/run.ts'
import type { RecoverStep } from '../core/recovery-record.ts'
import type { RunContext } from '../core/run-context.ts'
import { chooseStoredRecovery } from '../core/store-record.ts'
import { automaticLimits, decisionNow } from './automatic-proposals.ts'
import { carryOut } from './carry-out.ts'
import { endWithProposal } from './end-proposal.ts'
import type { PhaseResult } from './phase.ts'
import { proposeKnown } from './propose-known.ts'
import { dropUnread, outputOf, proposalsOn, readsProposal, stepsRun, takeProposal } from './take-proposal.ts'

/** `listed`: only a command that the owner approved beforehand. `any`: every other one as well. */
type ProposalTurn = 'listed' | 'any'

interface FailedCheck {
  failed: ObservedCheck
  diagnosis: Diagnosis
}

interface Considered {
  proposal: RecoveryProposal
  proposed: ProposedCommand
  diagnosis: Diagnosis
  /** The playbook of the owner that proposes it, under whose id it is recorded. */
  own?: OwnRecord
}

interface OwnRecord {
  id: string
  /** The failed check has to pass afterwards; else it may also fail in another way. */
  mustPass: boolean
}

/** The recovery of a proposed command as one of the owner's playbook. */
const recordedAs = (own: OwnRecord | undefined, step: RecoverStep): RecoverStep => {
  const { postCondition, playbook } = step
  if (own === undefined || postCondition.type !== 'proposal_helps') return step
  const strict = own.mustPass ? ({ mustPass: true } as const) : {}
  return { ...step, playbook: { ...playbook, id: own.id }, postCondition: { ...postCondition, ...strict } }
}

const factsOf = ({ proposal, proposed, diagnosis }: Considered, approvedBy: string) => ({
  ...{ proposal: proposal.id, step: proposed.step, command: proposed.command, workingDir: proposed.workingDir },
  ...{ timeoutSeconds: proposed.timeoutSeconds, approvedBy },
  ...{ check: proposal.failing.command, signature: diagnosis.signature },
})

const ask = (
  runContext: RunContext,
  { proposal, proposed, diagnosis }: Considered,
  reason: string,
): Promise<PhaseResult> =>
  endWithProposal(runContext, proposal, { kind: 'recovery_approval_required', reason, proposed, diagnosis })

/** The task is parked until the cooldown is over; its next run goes on with the proposal, which stays open. */
const waitForCooldown = async (
  runContext: RunContext,
  considered: Considered,
  { delayMs, until }: { delayMs: number; until: Date },
): Promise<PhaseResult> => {
  const { context, run } = runContext
  const { diagnosis, step } = await chooseStoredRecovery(context, run, {
    ...{ kind: 'proposalCooldown', command: considered.proposed.command, until: until.toISOString() },
    ...{ delayMs: Math.ceil(delayMs), number: run.number },
  })
  if (step.kind === 'recover') return carryOut(runContext, { diagnosis, step })
  return ask(runContext, { ...considered, diagnosis }, step.reason)
}

const runNow = async (
  runContext: RunContext,
  considered: Considered,
  source: 'auto' | 'on_unknown',
): Promise<PhaseResult> => {
  const { context, run } = runContext
  const { diagnosis, step } = await chooseStoredRecovery(context, run, {
    ...{ kind: 'proposal', ...factsOf(considered, source) },
  })
  return step.kind === 'recover'
    ? carryOut(runContext, { diagnosis, step: recordedAs(considered.own, step) })
    : ask(runContext, considered, `the recoveries of the task are used up: ${step.reason}`)
}

const deny = async (
  runContext: RunContext,
  { proposal }: Pick<Considered, 'proposal'>,
  reason: string,
): Promise<undefined> => {
  await runContext.context.db.transaction(async (tx) => {
    await requireLease(tx, runContext.run)
    mustSucceed(await moveProposal(tx, proposal, 'denied', { decidedBy: 'config', note: reason }))
    await appendResolved(tx, proposal, { by: 'config', method: 'denied', note: reason })
  })
}

const approvedWithin = async (
  runContext: RunContext,
  considered: Considered,
  { source, turn }: { source: 'auto' | 'on_unknown'; turn: ProposalTurn },
): Promise<PhaseResult | undefined> => {
  const limits = await automaticLimits(runContext.context.db, runContext)
  if (limits.reached) {
    const reason = `the limit of ${limits.most} automatic recoveries of this goal (recovery.max_auto_recoveries_per_run) is reached`
    return turn === 'listed' ? undefined : ask(runContext, considered, reason)
  }
  return limits.delayMs > 0 ? waitForCooldown(runContext, considered, limits) : runNow(runContext, considered, source)
}

const decide = async (
  runContext: RunContext,
  considered: Considered,
  turn: ProposalTurn,
): Promise<PhaseResult | undefined> => {
  const { proposal, proposed } = considered
  const decision = decisionNow(runContext, proposal, proposed.command)
  const isListed = decision.kind === 'run' && decision.source === 'auto'
  if (turn === 'listed' && !isListed) return undefined
  switch (decision.kind) {
    case 'run':
      return approvedWithin(runContext, considered, { source: decision.source, turn })
    case 'ask':
      return ask(runContext, considered, decision.reason)
    case 'refuse':
      // The first command has failed, which a person has to know.
      if (considered.proposed.step === 'fallback')
        return endWithProposal(runContext, considered.proposal, {
          ...{ kind: 'recovery_failed', reason: `the fallback did not run: ${decision.reason}` },
          ...{ proposed: considered.proposed, diagnosis: considered.diagnosis },
        })
      return deny(runContext, considered, decision.reason)
  }
}

/** The command whose turn it is; undefined = every command of the proposal ran. */
const nextCommand = async (db: Queryable, proposal: RecoveryProposal): Promise<ProposedCommand | undefined> => {
  const ran = await stepsRun(db, proposal)
  const body = proposal.body as Proposal
  return (['primary', 'fallback'] as const)
    .filter((step) => !ran.has(step))
    .map((step) => proposedCommandOf(body, step))
    .find((command) => command !== undefined)
}

const lastCommand = (proposal: RecoveryProposal): ProposedCommand | undefined => {
  const body = proposal.body as Proposal
  return proposedCommandOf(body, 'fallback') ?? proposedCommandOf(body, 'primary')
}

/** The command of the owner's playbook, as any other proposal: undefined = the lists refuse it. */
export const considerOwn = async (
  runContext: RunContext,
  { proposal, diagnosis }: Pick<Considered, 'proposal' | 'diagnosis'>,
  own: OwnRecord,
): Promise<PhaseResult | undefined> => {
  const proposed = proposedCommandOf(proposal.body as Proposal, 'primary')
  return proposed === undefined ? undefined : decide(runContext, { proposal, proposed, diagnosis, own }, 'any')
}

/** `isLast`: no other recovery is left. */
const considerIn = async (
  runContext: RunContext,
  failure: FailedCheck,
  { turn, isLast }: { turn: ProposalTurn; isLast: boolean },
): Promise<PhaseResult | undefined> => {
  const { db } = runContext.context
  const { failed, diagnosis } = failure
  const taken = await takeProposal(runContext, {
    ...{ command: failed.command, signature: diagnosis.signature },
    output: outputOf(failed),
  })
  const proposal = taken ?? (turn === 'any' ? await proposeKnown(runContext, failure, isLast) : undefined)
  if (proposal === undefined) return undefined
  if (proposal.problem !== null)
    return turn === 'listed'
      ? undefined
      : endWithProposal(runContext, proposal, {
          ...{ kind: 'invalid_proposal', reason: proposal.problem.problem, proposed: undefined, diagnosis },
        })
  const proposed = await nextCommand(db, proposal)
  if (proposed !== undefined) return decide(runContext, { proposal, proposed, diagnosis }, turn)
  if (proposal.source === 'playbook') return deny(runContext, { proposal }, 'it had no effect on the failed check')
  return endWithProposal(runContext, proposal, {
    ...{ kind: 'recovery_failed', proposed: lastCommand(proposal), diagnosis },
    reason: 'the proposed command had no effect on the failed check',
  })
}

/**
 * Returns what follows; undefined = no proposal changes anything now, or there is none. `step`: what follows without one.
 */
export const considerProposal = async (
  runContext: RunContext,
  failure: FailedCheck,
  step: LadderStep,
): Promise<PhaseResult | undefined> => {
  if (!readsProposal(runContext.run)) return undefined
  if (!proposalsOn(runContext)) {
    await dropUnread(runContext, { by: 'config', method: 'not_run', note: 'recovery.enabled is off' })
    return undefined
  }
  const isLast = step.kind !== 'recover'
  const isInstall = step.kind === 'recover' && step.action.type === 'install'
  const listed = await considerIn(runContext, failure, { turn: 'listed', isLast })
  if (listed !== undefined || isInstall) return listed
  return considerIn(runContext, failure, { turn: 'any', isLast })
}
