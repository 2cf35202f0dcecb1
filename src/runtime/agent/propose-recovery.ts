/**
 * A proposal that an agent makes by its tool becomes the same file that it could write itself. So it is matched, limited and run in
 * one way, and nothing runs here.
 */
import { join } from 'node:path'
import type { Run } from '../../domain/run.ts'
import { AppError } from '../../errors.ts'
import { readProposal } from '../../recovery/proposal/proposal.ts'
import { lockRun } from '../../store/run.ts'
import { runPaths, type Context } from '../core/context.ts'
import { problemOfProposal } from './proposal-problem.ts'
import { atWork } from './run-tools.ts'

/** Written beside the agent's folder and renamed into it, so that a reader sees all of it or nothing. */
const writeProposal = (context: Context, id: string, text: string): void => {
  const { files } = context.ports
  const { root, agentDir } = runPaths(context, id)
  files.mkdirSync(agentDir, { recursive: true })
  // An agent may have replaced its folder by a link to one that it cannot write itself.
  if (files.realpathSync(agentDir) !== join(files.realpathSync(root), 'agent'))
    throw new AppError('PERMISSION', '$UNSTUCK_RUN_DIR is a link to another folder; make it a folder again')
  const made = join(root, 'proposal.new')
  files.writeFileSync(made, text, { mode: 0o600 })
  files.renameSync(made, join(agentDir, 'recovery.json'))
}

/** Where nothing would read the proposal, its agent is told so instead of waiting for an effect. */
const requireReader = (context: Context, { loop }: Run): void => {
  if (context.config().recovery?.enabled !== true)
    throw new AppError(
      'ILLEGAL',
      'recovery is switched off for this repository, so the proposal would not be read; name the command in your final message instead',
    )
  if (loop !== null && loop.role !== 'tester')
    throw new AppError(
      'ILLEGAL',
      `only the tester of a loop may propose a recovery, and you are its ${loop.role}; name the command in your report instead`,
    )
}

/** Checks a proposal and stores it for the end of the attempt. Throws INPUT_INVALID with the wrong field. */
export const proposeRecovery = async (
  context: Context,
  id: string,
  given: Record<string, unknown>,
): Promise<{ accepted: true; command: string }> => {
  const text = `${JSON.stringify(given, null, 2)}
`
  // Read as the file will be read, so that what is accepted here is not refused there.
  const read = readProposal(new TextEncoder().encode(text))
  if (!read.ok)
    throw new AppError(
      'INPUT_INVALID',
      `the proposal is not valid, and nothing was stored. Correct it: ${read.problem}`,
    )
  const { workspace } = runPaths(context, id)
  // In direct mode there is no workspace.
  const tree = context.ports.files.existsSync(workspace) ? workspace : context.repository.root
  const problem = await problemOfProposal(context, read.proposal, tree)
  if (problem !== undefined)
    throw new AppError(
      'INPUT_INVALID',
      `the proposal is refused, and nothing was stored. Correct it: ${problem.problem}`,
    )
  await context.db.transaction(async (tx) => {
    requireReader(context, atWork(await lockRun(tx, id), id))
    writeProposal(context, id, text)
  })
  return { accepted: true, command: read.proposal.recovery.command }
}
