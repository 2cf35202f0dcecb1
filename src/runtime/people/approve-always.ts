/**
 * "Approve always": the owner's configuration lists a proposed command from now on. The change is shown before, and it is written only
 * if the file is still the one that was shown and the result is valid.
 */
import { AppError } from '../../errors.ts'
import { proposedCommandOf, checkProposal } from '../../recovery/proposal/proposal.ts'
import type { Queryable } from '../../store/db.ts'
import { getEscalation } from '../../store/escalation.ts'
import { getProposal } from '../../store/recovery-proposal.ts'
import type { Context } from '../core/context.ts'
import { addEntry, plannedEntry, type ListChange } from './owner-list.ts'

export interface AlwaysChange extends Pick<ListChange, 'path' | 'diff' | 'seen'> {
  command: string
}

const entryOf = (value: string) => ({ key: 'recovery.auto_approve', value }) as const

/** The command that the choice of a question is about. */
const commandAsked = async (db: Queryable, proposalId: string): Promise<string> => {
  const proposal = await getProposal(db, proposalId)
  const read = checkProposal(proposal?.body)
  const command = read.ok ? proposedCommandOf(read.proposal, proposal?.approvedStep ?? 'primary')?.command : undefined
  if (command === undefined) throw new AppError('NOT_FOUND', `the proposal ${proposalId} has no command`)
  return command
}

/** What "approve always" would change. Reads only. */
export const showAlwaysChange = async (context: Context, questionId: string): Promise<AlwaysChange> => {
  const question = await getEscalation(context.db, questionId)
  const choice = question?.choices.find(({ kind }) => kind === 'approve_always')
  if (choice === undefined || !('proposal' in choice))
    throw new AppError('NOT_FOUND', `question ${questionId} has no choice that changes the configuration`)
  const command = await commandAsked(context.db, choice.proposal)
  const { path, diff, seen } = plannedEntry(context, entryOf(command))
  return { path, command, diff, seen }
}

const changedMeanwhile = (path: string): AppError =>
  new AppError('STALE', `${path} is not as it was shown; look at the change again, and then answer`)

/** The last step of the transaction that decides the question: of two answers only the first changes the file, and a refused one changes nothing. */
export const approveAlways = async (
  context: Context,
  tx: Queryable,
  { proposal, seen }: { proposal: string; seen: string | undefined },
): Promise<void> => {
  const entry = entryOf(await commandAsked(tx, proposal))
  const change = plannedEntry(context, entry)
  if (seen === undefined)
    throw new AppError(
      'INPUT_INVALID',
      'seen: look at the change of the configuration first, and send what it states as `seen`',
    )
  if (seen !== change.seen) throw changedMeanwhile(change.path)
  addEntry(context, entry, change)
}
