/** The work of `unstuck revert`. */
import type { Reverted, StatusView } from '../api/contract.ts'
import { AppError, exitCodes } from '../errors.ts'
import type { JsonOption } from './command-options.ts'
import { connectToExisting } from './engine/connect-to-change.ts'
import { printJson, printLine, type Io } from './io.ts'
import { safe } from './render.ts'
import { userName } from './user-name.ts'
import { readableTitle } from '../domain/task-title.ts'

const mayRevert = async (io: Io, what: string): Promise<boolean> => {
  if (io.prompt === undefined)
    throw new AppError(
      'USAGE',
      `${what}: this changes your branch, and there is no terminal to confirm it on; add --yes`,
    )
  const typed = await io.prompt.line(`${what}? [y/N] `, io.signal)
  return /^y(es)?$/i.test(typed?.trim() ?? '')
}

export const revertCommand = async (
  io: Io,
  id: string,
  { yes, json }: JsonOption & { yes?: true },
): Promise<number> => {
  if (!/^t-[a-z0-9]+$/.test(id))
    throw new AppError('USAGE', `"${id}" is not the id of a task (t-…); "unstuck tasks" lists them`)
  const client = await connectToExisting(io)
  if (yes !== true) {
    const { goals } = await client.get<StatusView>('/status')
    const goal = goals.find(({ tasks }) => tasks.some((each) => each.id === id))
    const task = goal?.tasks.find((each) => each.id === id)
    const branch = goal?.targetBranch == null ? '' : ` on ${safe(goal.targetBranch)}`
    const named =
      task === undefined
        ? `Revert the work of ${id}`
        : `Revert the work of task ${task.number} "${safe(readableTitle(task.title))}"${branch}`
    if (!(await mayRevert(io, named))) {
      printLine(io, 'nothing was changed')
      return exitCodes.ok
    }
  }
  const reverted = await client.post<Reverted>(`/tasks/${id}/revert`, { by: userName() })
  if (json === true) printJson(io, reverted)
  else
    printLine(
      io,
      `reverted on ${safe(reverted.branch)} by ${reverted.commit.slice(0, 12)}; the checks of that branch run once on the result`,
    )
  return exitCodes.ok
}
