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
  full?: boolean
  ended?: string
  watch?: boolean
}

const endedCount = (text: string): string => {
  if (/^\d{1,9}$/.test(text) && Number(text) <= endedShown.most) return text
  throw new AppError('USAGE', `--ended "${text}": give a whole number of goals from 0 to ${endedShown.most}`)
}

/** A program gets every task, and as many ended goals as before; a person what fits a terminal. */
const pathOf = ({ full, ended, json }: StatusOptions): string => {
  if (json === true || full === true) return ended === undefined ? '/status' : `/status?ended=${endedCount(ended)}`
  const count = ended === undefined ? String(shownAtMost.ended) : endedCount(ended)
  return `/status?ended=${count}&tasks=${shownAtMost.tasks}`
}

/** Without `--ended` only what is open: what ended in ten repositories would hide it. */
const statusOfAll = async (io: Io, { ended = '0', watch = false, json = false }: StatusOptions): Promise<number> => {
  const { refuseWithAll, showAll } = await import('../repositories/show-all.ts')
  refuseWithAll('--watch', watch)
  const path = pathOf({ ended, json })
  const views = await showAll<StatusView>(io, {
    ...{ path, json },
    lines: (paint, view, isEngineGone) => statusLines(paint, view, { isEngineGone }),
  })
  return views.some(({ escalations }) => escalations.length > 0) ? exitCodes.needsPerson : exitCodes.ok
}

const status = async (io: Io, options: StatusOptions): Promise<number> => {
  if (options.all === true) return statusOfAll(io, options)
  const path = pathOf(options)
  const isWhole = options.full === true
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
    .option('--all', 'show the open goals of all your repositories')
    .option('--ended <count>', 'show this many ended goals, newest first (default: 3; with --json or --full 50)')
    .option('--full', 'show every open goal with all of its tasks')
    .option('-w, --watch', 'refresh in place until q or Ctrl-C; on a pipe, print again after each change')
    .option(...jsonOption)
    .action((options: StatusOptions) => act((io) => status(io, options)))
}
