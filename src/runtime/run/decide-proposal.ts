/**
 * What a failed check does with the proposal of the agent: run it, wait for the end of the cooldown, ask a person, or go on without it.
 * A command that the owner listed exactly goes before every built-in repair, any other one after the install.
 */
import type { RecoveryProposal } from '../../domain/recovery-proposal.ts'
import { decideProposal } from '../../recovery/proposal/decide.ts'
import type { CommandDecision } from '../../recovery/proposal/match.ts'
import { proposedCommandOf, type Proposal, type ProposedCommand } from '../../recovery/proposal/proposal.ts'
import type { PatternFlag } from '../../recovery/proposal/error-pattern.ts'
import type { ObservedCheck } from '../../recovery/evidence.ts'
import type { Diagnosis } from '../../recovery/types.ts'
import type { Queryable } from '../../store/db.ts'
import { storeNow } from '../../store/event.ts'
import { appendResolved, countedExecutions, moveProposal } from '../../store/recovery-proposal.ts'
import { requireLease } from '../../store/run.ts'
import type { RunContext } from '../core/run-context.ts'
import { chooseStoredRecovery } from '../core/store-record.ts'
import { carryOut } from './carry-out.ts'
import { endWithProposal } from './end-proposal.ts'
import type { PhaseResult } from './phase.ts'
import { proposeKnown } from './propose-known.ts'
import { outputOf, proposalsOn, stepsRun, takeProposal } from './take-proposal.ts'

/** `listed`: only a command that the owner approved beforehand. `any`: every other one as well. */
export type ProposalTurn = 'listed' | 'any'

interface Considered {
  proposal: RecoveryProposal
  proposed: ProposedCommand
  diagnosis: Diagnosis
}

/** Milliseconds until the cooldown ends, and whether the limit of the goal is reached. */
const limitsNow = async (db: Queryable, { context, goal }: RunContext) => {
  const settings = context.config().recovery
  const { count, last } = await countedExecutions(db, goal.id)
  const most = settings?.max_auto_recoveries_per_run ?? 0
  const now = await storeNow(db)
  const due = (last?.getTime() ?? 0) + (settings?.cooldown_seconds ?? 0) * 1000
  return { reached: count >= most, most, delayMs: last === null ? 0 : due - now.getTime(), until: new Date(due) }
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

/** The task is parked until the cooldown is over; its next run goes on with the proposal. */
const waitForCooldown = async (
  runContext: RunContext,
  { proposal, proposed }: Considered,
  { delayMs, until }: { delayMs: number; until: Date },
): Promise<PhaseResult> => {
  const { context, run } = runContext
  await context.db.transaction(async (tx) => {
    await requireLease(tx, run)
    await moveProposal(tx, proposal.id, { from: ['open'], to: 'waiting', dueAt: until })
  })
  const { diagnosis, step } = await chooseStoredRecovery(context, run, {
    ...{ kind: 'proposalCooldown', command: proposed.command, until: until.toISOString() },
    ...{ delayMs: Math.ceil(delayMs), number: run.number },
  })
  if (step.kind === 'recover') return carryOut(runContext, { diagnosis, step })
  return ask(runContext, { proposal: { ...proposal, state: 'waiting' }, proposed, diagnosis }, step.reason)
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
    ? carryOut(runContext, { diagnosis, step })
    : ask(runContext, considered, `the recoveries of the task are used up: ${step.reason}`)
}

const deny = async (runContext: RunContext, { proposal }: Considered, reason: string): Promise<undefined> => {
  await runContext.context.db.transaction(async (tx) => {
    await requireLease(tx, runContext.run)
    await moveProposal(tx, proposal.id, { from: ['open'], to: 'denied', decidedBy: 'config', note: reason })
    await appendResolved(tx, proposal, { by: 'config', method: 'denied', note: reason })
  })
}

const approvedWithin = async (
  runContext: RunContext,
  considered: Considered,
  { source, turn }: { source: 'auto' | 'on_unknown'; turn: ProposalTurn },
): Promise<PhaseResult | undefined> => {
  const limits = await limitsNow(runContext.context.db, runContext)
  if (limits.reached) {
    const reason = `the limit of ${limits.most} automatic recoveries of this goal (recovery.max_auto_recoveries_per_run) is reached`
    return turn === 'listed' ? undefined : ask(runContext, considered, reason)
  }
  return limits.delayMs > 0 ? waitForCooldown(runContext, considered, limits) : runNow(runContext, considered, source)
}

const decisionOf = ({ context }: RunContext, { proposal, proposed }: Considered): CommandDecision => {
  const settings = context.config().recovery
  if (settings === undefined) return { kind: 'refuse', reason: 'recovery is switched off' }
  const flag = (proposal.flag ?? undefined) as PatternFlag | undefined
  // A secret makes the proposal invalid when it is read.
  return decideProposal(proposed.command, settings, { flag, secret: undefined })
}

const decide = async (
  runContext: RunContext,
  considered: Considered,
  turn: ProposalTurn,
): Promise<PhaseResult | undefined> => {
  const decision = decisionOf(runContext, considered)
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

/** Returns what follows; undefined = the proposal changes nothing now, or there is none. `isLast`: no other recovery is left. */
export const considerProposal = async (
  runContext: RunContext,
  failure: { failed: ObservedCheck; diagnosis: Diagnosis },
  { turn, isLast }: { turn: ProposalTurn; isLast: boolean },
): Promise<PhaseResult | undefined> => {
  if (!proposalsOn(runContext)) return undefined
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
  return endWithProposal(runContext, proposal, {
    ...{ kind: 'recovery_failed', proposed: lastCommand(proposal), diagnosis },
    reason: 'the proposed command had no effect on the failed check',
  })
}
