/** `unstuck take-over` and `give-back`: a person does a task themselves. */
import type { Task } from '../api/contract.ts'
import { AppError, exitCodes } from '../errors.ts'
import type { JsonOption } from './command.ts'
import { connectKnown } from './engine/connect.ts'
import { line, printJson, type Io } from './io.ts'
import { safe } from './render.ts'
import { userName } from './user-name.ts'

const post = async (io: Io, id: string, verb: string): Promise<Task> => {
  if (!/^t-[a-z0-9]+$/.test(id)) throw new AppError('USAGE', `"${id}" is no task (t-…); "unstuck tasks" lists them`)
  return (await connectKnown(io)).post<Task>(`/tasks/${id}/${verb}`, { by: userName() })
}

/** One line to copy, and what comes afterwards. */
export const showTakenOver = (io: Io, id: string, command: string): void => {
  line(io, command)
  line(io, `\nNo agent works on task ${id} while it is with you.`)
  line(io, `When your work is ready to be checked: unstuck give-back ${id}`)
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
    line(
      io,
      `${id} "${safe(task.title)}": your work in ${task.takenOver?.folder ?? 'the folder'} is collected and checked`,
    )
    line(io, `To see how it goes: unstuck status; if a check fails, you are asked again and the folder stays.`)
  }
  return exitCodes.ok
}
