/** The work of `unstuck take-over` and `unstuck give-back`, for a person who does a task without an agent. */
import type { Task } from '../api/contract.ts'
import { AppError, exitCodes } from '../errors.ts'
import type { JsonOption } from './command-options.ts'
import { connectToExisting } from './engine/connect-to-change.ts'
import { printLine, printJson, type Io } from './io.ts'
import { safe } from './render.ts'
import { userName } from './user-name.ts'
import { readableTitle } from '../domain/task-title.ts'

const post = async (io: Io, id: string, verb: string): Promise<Task> => {
  if (!/^t-[a-z0-9]+$/.test(id))
    throw new AppError('USAGE', `"${id}" is not the id of a task (t-…); "unstuck tasks" lists the tasks`)
  return (await connectToExisting(io)).post<Task>(`/tasks/${id}/${verb}`, { by: userName() })
}

/** Prints the command to copy, and what to do afterwards. */
export const showTakenOver = (io: Io, id: string, command: string): void => {
  printLine(io, command)
  printLine(io, `\nNo agent works on task ${id} until you give it back.`)
  printLine(io, `When your work is ready: unstuck give-back ${id}`)
}

export const takeOverCommand = async (io: Io, id: string, options: JsonOption): Promise<number> => {
  const task = await post(io, id, 'take-over')
  if (options.json === true) printJson(io, task)
  else showTakenOver(io, id, task.takenOver?.command ?? '')
  return exitCodes.ok
}

export const giveBackCommand = async (io: Io, id: string, options: JsonOption): Promise<number> => {
  const task = await post(io, id, 'give-back')
  if (options.json === true) printJson(io, task)
  else {
    printLine(
      io,
      `${id} "${safe(readableTitle(task.title))}": your work in ${task.takenOver?.folder ?? 'its folder'} is being checked`,
    )
    printLine(
      io,
      `"unstuck status" shows the result. If a check fails, you get a new question, and the folder is kept.`,
    )
  }
  return exitCodes.ok
}
