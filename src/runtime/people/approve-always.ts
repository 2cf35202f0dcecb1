/**
 * "Approve always": the owner's configuration lists a proposed command from now on. The change is shown before, and it is written only
 * if the file is still the one that was shown and the result is valid.
 */
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { loadConfig } from '../../config.ts'
import { withAutoApprove } from '../../config-edit.ts'
import { AppError } from '../../errors.ts'
import { proposedCommandOf, checkProposal } from '../../recovery/proposal/proposal.ts'
import { parseJson } from '../../validation.ts'
import type { Queryable } from '../../store/db.ts'
import { getEscalation } from '../../store/escalation.ts'
import { getProposal } from '../../store/recovery-proposal.ts'
import type { Context } from '../core/context.ts'
import { replaceFile } from '../core/owner-export.ts'
import { changedLines } from './changed-lines.ts'

export interface AlwaysChange {
  /** The file that would be changed. */
  path: string
  command: string
  /** As a patch; '' = the file lists the command already. */
  diff: string
  /** Stands for the content that was shown; the answer states it. */
  seen: string
}

type Place = Pick<Context, 'ports' | 'repository' | 'environment'>

const digestOfText = (text: string | undefined): string =>
  text === undefined ? 'no file' : createHash('sha256').update(text).digest('hex').slice(0, 16)

/** A link is followed, so that it stays a link. */
const fileOf = ({ ports, repository }: Place): { path: string; text: string | undefined; mode: number } => {
  const path = join(repository.root, '.unstuck', 'config.json')
  if (!ports.files.existsSync(path)) return { path, text: undefined, mode: 0o644 }
  const target = ports.files.realpathSync(path)
  const { mode } = ports.files.statSync(target)
  return { path: target, text: ports.files.readFileSync(target, 'utf8'), mode: mode & 0o777 }
}

const objectOf = (text: string | undefined): Record<string, unknown> => {
  const json = parseJson(text ?? '{}')
  return json.ok ? (json.value as Record<string, unknown>) : {}
}

/** A file that states a key twice, for example, can be changed at the place that does not count. */
const expectExactly = (path: string, before: string | undefined, after: string, command: string): void => {
  const old = objectOf(before)
  const section = (old.recovery ?? {}) as { auto_approve?: string[] }
  const wanted = { ...old, recovery: { ...section, auto_approve: [...(section.auto_approve ?? []), command] } }
  if (!isDeepStrictEqual(objectOf(after), wanted))
    throw new AppError(
      'CONFIG_INVALID',
      `${path}: recovery.auto_approve cannot be changed by itself; add the command there by hand, and answer "Run it"`,
    )
}

interface Planned extends AlwaysChange {
  after: string
  mode: number
}

const planned = (place: Place, command: string): Planned => {
  const { path, text, mode } = fileOf(place)
  const load = (content: string | undefined) =>
    loadConfig({ root: place.repository.root, environment: place.environment, readFile: () => content })
  const lists = load(text).recovery?.auto_approve ?? []
  const after = lists.includes(command) ? (text ?? '') : withAutoApprove(text, command)
  if (!lists.includes(command)) {
    load(after)
    expectExactly(path, text, after, command)
  }
  return { path, command, mode, after, diff: changedLines(text ?? '', after), seen: digestOfText(text) }
}

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
  const { path, command, diff, seen } = planned(context, await commandAsked(context.db, choice.proposal))
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
  const { files } = context.ports
  const { path, diff, after, mode, ...plan } = planned(context, await commandAsked(tx, proposal))
  if (seen === undefined)
    throw new AppError(
      'INPUT_INVALID',
      'seen: look at the change of the configuration first, and send what it states as `seen`',
    )
  if (seen !== plan.seen) throw changedMeanwhile(path)
  // The answer of a person confirms the command as `unstuck config confirm` would, also one that the file lists already.
  if (diff === '') return context.approveCommand?.(plan.command)
  files.mkdirSync(dirname(path), { recursive: true })
  replaceFile(files, path, after, mode)
  context.approveCommand?.(plan.command)
}
