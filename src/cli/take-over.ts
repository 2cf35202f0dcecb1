/** The work of `unstuck take-over` and `unstuck give-back`, for a person who does a task without an agent. */
import type { Task } from '../api/contract.ts'
import { AppError, exitCodes } from '../errors.ts'
import type { JsonOption } from './command.ts'
import { connectKnown } from './engine/connect.ts'
import { line, printJson, type Io } from './io.ts'
import { safe } from './render.ts'
import { userName } from './user-name.ts'

const post = async (io: Io, id: string, verb: string): Promise<Task> => {
  if (!/^t-[a-z0-9]+$/.test(id))
    throw new AppError('USAGE', `"${id}" is not the id of a task (t-…); "unstuck tasks" lists the tasks`)
  return (await connectKnown(io)).post<Task>(`/tasks/${id}/${verb}`, { by: userName() })
}

/** Prints the command to copy, and what to do afterwards. */
export const showTakenOver = (io: Io, id: string, command: string): void => {
  line(io, command)
  line(io, `\nNo agent works on task ${id} until you give it back.`)
  line(io, `When your work is ready: unstuck give-back ${id}`)
}

export const takeOver = async (io: Io, id: string, options: JsonOption): Promise<number> => {
  const task = await post(io, id, 'take-over')
  if (options.json === true) printJson(io, task)
  else showTakenOver(io, id, task.takenOver?.command ?? '')
  return exitCodes.ok
}

export const giveBack = async (io: Io, id: string, options: JsonOption): Promise<number> => {
  const task = await post(io, id, 'give-back')
  if (options.json === true) printJson(io, task)
  else {
    line(io, `${id} "${safe(task.title)}": your work in ${task.takenOver?.folder ?? 'its folder'} is being checked`)
    line(io, `"unstuck status" shows the result. If a check fails, you get a new question, and the folder is kept.`)
  }
  return exitCodes.ok
}
