/** The work of `unstuck link`. */
import type { Task } from '../api/contract.ts'
import { AppError, exitCodes } from '../errors.ts'
import type { JsonOption } from './command-options.ts'
import { connectToExisting } from './engine/connect-to-change.ts'
import { printJson, printLine, type Io } from './io.ts'
import { safe } from './render.ts'
import { userName } from './user-name.ts'
import { readableTitle } from '../domain/task-title.ts'

export interface LinkOptions extends JsonOption {
  wait?: string
}

export const linkCommand = async (
  io: Io,
  id: string,
  issue: string | undefined,
  options: LinkOptions,
): Promise<number> => {
  const { wait: waitsFor } = options
  if ((issue === undefined) === (waitsFor === undefined))
    throw new AppError(
      'USAGE',
      `name either the link (unstuck link ${id} <issue>) or what the task waits for (unstuck link ${id} --wait "<what>")`,
    )
  const client = await connectToExisting(io)
  const by = userName()
  const task =
    waitsFor === undefined
      ? await client.post<Task>(`/tasks/${id}/link`, { issue, by })
      : await client.post<Task>(`/tasks/${id}/await-link`, { waitsFor, by })
  if (options.json === true) printJson(io, task)
  else printLine(io, `${task.id} "${safe(readableTitle(task.title))}" is now ${task.status}`)
  return exitCodes.ok
}
