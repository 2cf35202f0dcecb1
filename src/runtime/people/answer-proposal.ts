/** What a person answers about a proposed command. Their approval skips the owner's lists and nothing else. */
import type { Choice, Escalation } from '../../domain/escalation.ts'
import type { ProposalTrigger, RecoveryProposal } from '../../domain/recovery-proposal.ts'
import { AppError } from '../../errors.ts'
import { whyNoCommand } from '../../recovery/proposal/command-text.ts'
import { proposedCommandOf, type Proposal, type ProposalStep } from '../../recovery/proposal/proposal.ts'
import type { Queryable } from '../../store/db.ts'
import { storeNow } from '../../store/event.ts'
import {
  appendApproved,
  appendResolved,
  getProposal,
  moveProposal,
  type ProposalMove,
} from '../../store/recovery-proposal.ts'
import { secretIn } from '../agent/proposal-problem.ts'
import type { Context } from '../core/context.ts'
import { actorName, reasonText } from '../core/person-text.ts'

export type ProposalChoice = Extract<Choice, { proposal: string }>

interface ProposalAnswer {
  choice: ProposalChoice
  question: Escalation
  text: string
  by: string | undefined
}

const proposalNamed = async (tx: Queryable, id: string): Promise<RecoveryProposal> => {
  const found = await getProposal(tx, id)
  if (found === undefined) throw new AppError('NOT_FOUND', `the proposal ${id} does not exist`)
  return found
}

/** Of two answers at the same time the second finds the proposal decided. */
const moveAsked = async (
  tx: Queryable,
  { question }: ProposalAnswer,
  asked: RecoveryProposal,
  [trigger, change]: [ProposalTrigger, ProposalMove],
): Promise<RecoveryProposal> => {
  const moved = await moveProposal(tx, asked, trigger, change)
  if (!moved.ok)
    throw new AppError('STALE', `question ${question.id} is already decided; "unstuck status" shows what waits for you`)
  return moved.value
}

const invalidCommand = (problem: string): AppError =>
  new AppError('INPUT_INVALID', `command: ${problem}; write one shell command in one line`)

/** The checks that also a person's own command has to pass. */
const refuseCommand = async (context: Context, command: string): Promise<void> => {
  const problem = whyNoCommand(command)
  if (problem !== undefined) throw invalidCommand(problem)
  if ((await secretIn(context, command)) !== undefined)
    throw invalidCommand('it contains a secret, which would be stored; read it from a variable of the environment')
}

/** The proposal with the command of the person, also where the agent's proposal was not valid. */
const withCommand = ({ body }: RecoveryProposal, step: ProposalStep, command: string, now: Date): Proposal => {
  if (body === null)
    return {
      ...{ version: 1, timestamp: now.toISOString(), category: 'environment', severity: 'blocking' },
      diagnosis: { error_pattern: '.', root_cause: 'a person wrote the command', evidence: [] },
      recovery: { command, expected_outcome: 'the failed check runs', confidence: 'high' },
    }
  const given = body as Proposal
  return step === 'fallback' && given.fallback != null
    ? { ...given, fallback: { ...given.fallback, command } }
    : { ...given, recovery: { ...given.recovery, command } }
}

const approve = async (context: Context, tx: Queryable, answer: ProposalAnswer): Promise<void> => {
  const { choice, text, by } = answer
  const asked = await proposalNamed(tx, choice.proposal)
  const step = asked.approvedStep ?? 'primary'
  const moved = await moveAsked(tx, answer, asked, [
    'approved',
    {
      ...{ decidedBy: actorName(by), approvedStep: step },
      ...(choice.kind === 'edit_recovery'
        ? { body: withCommand(asked, step, text, await storeNow(tx)) }
        : { note: reasonText(context, text) }),
    },
  ])
  const command = proposedCommandOf(moved.body as Proposal, step)?.command ?? ''
  await appendApproved(tx, moved, { source: 'human', command })
}

const close = async (context: Context, tx: Queryable, answer: ProposalAnswer): Promise<void> => {
  const isRejected = answer.choice.kind === 'reject_recovery'
  const note = reasonText(context, answer.text)
  const moved = await moveAsked(tx, answer, await proposalNamed(tx, answer.choice.proposal), [
    isRejected ? 'rejected' : 'solved',
    { decidedBy: actorName(answer.by), note },
  ])
  await appendResolved(tx, moved, { by: 'human', method: isRejected ? 'rejected' : 'manual', note })
}

/** Checks the text of the person before anything is changed. */
export const checkProposalAnswer = async (context: Context, { choice, text }: ProposalAnswer): Promise<void> => {
  if (choice.kind === 'edit_recovery') await refuseCommand(context, text)
}

/** In the transaction that retries the task. */
export const answerProposal = (context: Context, tx: Queryable, answer: ProposalAnswer): Promise<void> =>
  answer.choice.kind === 'reject_recovery' || answer.choice.kind === 'resolve_recovery'
    ? close(context, tx, answer)
    : approve(context, tx, answer)

/** For the agent that continues after a rejection; undefined = the work is only checked again. */
export const rejectionHint = async ({ db }: Context, { choice, text }: ProposalAnswer): Promise<string | undefined> => {
  if (choice.kind !== 'reject_recovery') return undefined
  const body = (await getProposal(db, choice.proposal))?.body as Proposal | null | undefined
  const what =
    body === null || body === undefined
      ? 'your recovery.json'
      : `the recovery command \`${body.recovery.command.slice(0, 300)}\``
  return `A person rejected ${what}${text === '' ? '' : ` (${text})`}. Continue without it and do not propose it again.`
}
