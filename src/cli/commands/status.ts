/** `unstuck status`: shows goals, tasks with their next step, and open questions. */
import type { StatusView } from '../../api/contract.ts'
import { endedShown } from '../../domain/goal.ts'
import { AppError, exitCodes } from '../../errors.ts'
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'
import { printLine, printJson, type Io } from '../io.ts'
import { shownAtMost } from '../fold-status.ts'
import { createPaint, statusLines } from '../render.ts'

interface StatusOptions extends JsonOption {
  all?: boolean
  ended?: string
  watch?: boolean
}

const endedCount = (text: string): string => {
  if (/^\d{1,9}$/.test(text) && Number(text) <= endedShown.most) return text
  throw new AppError('USAGE', `--ended "${text}": give a whole number of goals from 0 to ${endedShown.most}`)
}

/** A program gets every task, and as many ended goals as before; a person what fits a terminal. */
const queryOf = ({ all, ended, json }: StatusOptions): Record<string, string> => {
  if (json === true || all === true) return ended === undefined ? {} : { ended: endedCount(ended) }
  const count = ended === undefined ? String(shownAtMost.ended) : endedCount(ended)
  return { ended: count, tasks: String(shownAtMost.tasks) }
}

const status = async (io: Io, options: StatusOptions): Promise<number> => {
  const path = `/status?${new URLSearchParams(queryOf(options))}`
  const isWhole = options.all === true
  if (options.watch === true)
    return (await import('../live/status-watch.ts')).watchStatus(io, path, options.json === true)
  const { readOnly } = await import('../engine/read-only.ts')
  const { view, isEngineGone } = await readOnly(io, async ({ client, isEngineGone }) => ({
    ...{ view: await client.get<StatusView>(path), isEngineGone },
  }))
  if (options.json === true) printJson(io, view)
  else for (const text of statusLines(createPaint(io.colours), view, { isEngineGone, isWhole })) printLine(io, text)
  return view.escalations.length > 0 ? exitCodes.needsPerson : exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('status')
    .description('show goals, tasks with their next step, and questions that wait for you')
    .option('--ended <count>', 'show this many ended goals, newest first (default: 3; with --json or --all 50)')
    .option('-a, --all', 'show every open goal with all of its tasks')
    .option('-w, --watch', 'refresh in place until q or Ctrl-C; on a pipe, print again after each change')
    .option(...jsonOption)
    .action((options: StatusOptions) => act((io) => status(io, options)))
}
