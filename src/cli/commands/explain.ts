/** `unstuck explain`: tells the story of a task, run or goal. */
import type { ExplainView } from '../../api/contract.ts'
import { exitCodes } from '../../errors.ts'
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'
import { printLine, printJson, type Io } from '../io.ts'
import { createPaint, safe } from '../render.ts'
import { localTimes, secondText } from '../times.ts'

const explain = async (io: Io, id: string, options: JsonOption): Promise<number> => {
  const { readOnly } = await import('../engine/read-only.ts')
  const view = await readOnly(io, ({ client }) => client.get<ExplainView>(`/explain/${encodeURIComponent(id)}`))
  if (options.json === true) printJson(io, view)
  else {
    printLine(io, createPaint(io.colours).bold(safe(view.title)))
    if (view.checks !== undefined) printLine(io, `  ${safe(view.checks)}`)
    const now = new Date()
    for (const { at, text } of view.lines) printLine(io, `  ${secondText(at, now)} ${localTimes(safe(text), now)}`)
  }
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('explain')
    .description('tell what happened to a task, run or goal, step by step')
    .argument('<id>', 'id of a task (t-…), a run (r-…) or a goal (g-…)')
    .option(...jsonOption)
    .action((id: string, options: JsonOption) => act((io) => explain(io, id, options)))
}
