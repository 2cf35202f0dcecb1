/** `unstuck explain`: the story of a task, run or goal. */
import type { ExplainView } from '../../api/contract.ts'
import { exitCodes } from '../../errors.ts'
import { json, type JsonOption, type Register } from '../command.ts'
import { line, printJson, type Io } from '../io.ts'
import { clockOf, createPaint, safe } from '../render.ts'

const explain = async (io: Io, id: string, options: JsonOption): Promise<number> => {
  const { reading } = await import('../engine/reading.ts')
  const view = await reading(io, ({ client }) => client.get<ExplainView>(`/explain/${encodeURIComponent(id)}`))
  if (options.json === true) printJson(io, view)
  else {
    line(io, createPaint(io.colours).bold(safe(view.title)))
    for (const entry of view.lines) line(io, `  ${clockOf(entry.at)} ${safe(entry.text)}`)
  }
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('explain')
    .description('the story of a task, run or goal')
    .argument('<id>', 'a task (t-…), run (r-…) or goal (g-…)')
    .option(...json)
    .action((id: string, options: JsonOption) => act((io) => explain(io, id, options)))
}
