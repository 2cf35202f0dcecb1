/**
 * Removes what a run recorded to compare the owner's checkout with: the traces of its git commands, thousands of files at worst, and
 * copies of files as they were before it. Only runs that overlap in time read each other's records, so they can go when the last of those
 * has ended. A question about the checkout has copies of its own.
 */
import { join } from 'node:path'
import { messageOf } from '../../errors.ts'
import { getEscalation } from '../../store/escalation.ts'
import { getRun, runsSince } from '../../store/run.ts'
import { heldCopies } from '../agent/checkout-before.ts'
import { runPaths, type Context } from '../core/context.ts'
import { heldFolder } from '../landing/checkout-question.ts'

const remove = (context: Context, folder: string): void => {
  try {
    context.ports.files.rmSync(folder, { recursive: true, force: true })
  } catch (error) {
    context.log.warn({ folder, problem: messageOf(error) }, 'what is no longer needed could not be removed')
  }
}

/** Of every run whose folder is here. A run that is not in the store is left to `unstuck clean`. */
export const dropRunNotes = async (context: Context, runIds: readonly string[]): Promise<void> => {
  const { files } = context.ports
  const notesOf = (id: string): string[] =>
    [runPaths(context, id).gitTrace, heldCopies(runPaths(context, id))].filter((path) => files.existsSync(path))
  const noted = runIds.filter((id) => notesOf(id).length > 0)
  if (noted.length === 0) return
  const running = (await runsSince(context.db, undefined)).map(({ startedAt }) => startedAt.getTime())
  const oldest = Math.min(...running)
  for (const id of noted) {
    const run = await getRun(context.db, id)
    // One that is alive compares with its own notes, and asks those that were alive with it.
    if (run?.endedAt == null || run.state === 'running' || run.endedAt.getTime() >= oldest) continue
    for (const folder of notesOf(id)) remove(context, folder)
  }
}

/** The copies of a question about the checkout that was decided before. The commits stay below refs/unstuck/kept/. */
export const dropDecidedCopies = async (context: Context, before: Date): Promise<void> => {
  const { files } = context.ports
  const folder = join(context.stateDir, 'held')
  if (!files.existsSync(folder)) return
  for (const id of files.readdirSync(folder)) {
    const decidedAt = (await getEscalation(context.db, id))?.decidedAt
    if (decidedAt != null && decidedAt < before) remove(context, heldFolder(context, id))
  }
}
