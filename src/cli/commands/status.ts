/** `unstuck status`: goals, tasks with their next step, and what waits for a person. */
import type { StatusView } from '../../api/contract.ts'
import { exitCodes } from '../../errors.ts'
import { json, type JsonOption, type Register } from '../command.ts'
import { line, printJson, type Io } from '../io.ts'
import { createPaint, statusLines } from '../render.ts'

interface StatusOptions extends JsonOption {
  ended?: string
}

const status = async (io: Io, options: StatusOptions): Promise<number> => {
  const { reading } = await import('../engine/reading.ts')
  const query = options.ended === undefined ? '' : `?ended=${encodeURIComponent(options.ended)}`
  const view = await reading(io, ({ client }) => client.get<StatusView>(`/status${query}`))
  if (options.json === true) printJson(io, view)
  else for (const text of statusLines(createPaint(io.colours), view)) line(io, text)
  return view.escalations.length > 0 ? exitCodes.needsPerson : exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('status')
    .description('goals, tasks with their next step, and what waits for you')
    .option('--ended <count>', 'show this many of the goals that have ended, the newest first (standard: 50)')
    .option(...json)
    .action((options: StatusOptions) => act((io) => status(io, options)))
}
