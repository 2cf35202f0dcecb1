/** `unstuck diff`: shows what a run changed; for a task its newest run, for a goal the newest run of each task. */
import type { DiffView, GoalView, Run } from '../../api/contract.ts'
import { AppError, exitCodes } from '../../errors.ts'
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'
import { diffLines } from '../diff-lines.ts'
import type { Client } from '../engine/client.ts'
import { printLine, printJson, type Io } from '../io.ts'
import { createPaint } from '../render.ts'

const newestRunOf = async (client: Client, task: string): Promise<string[]> => {
  const runs = await client.all<Run>(`/runs?task=${encodeURIComponent(task)}`)
  return runs.slice(-1).map(({ id }) => id)
}

const runsNamed = async (client: Client, id: string): Promise<string[]> => {
  if (id.startsWith('r-')) return [id]
  if (id.startsWith('t-')) return newestRunOf(client, id)
  if (!id.startsWith('g-'))
    throw new AppError(
      'NOT_FOUND',
      `"${id}" is not the id of a run (r-…), task (t-…) or goal (g-…); "unstuck status" shows the ids`,
    )
  const { tasks } = await client.get<GoalView>(`/goals/${encodeURIComponent(id)}`)
  return tasks.flatMap(({ run }) => (run === null ? [] : [run.id]))
}

const diff = async (io: Io, id: string, options: JsonOption): Promise<number> => {
  const { readOnly } = await import('../engine/read-only.ts')
  return readOnly(io, ({ client }) => showDiffs(io, id, options, client))
}

const showDiffs = async (io: Io, id: string, options: JsonOption, client: Client): Promise<number> => {
  const runs = await runsNamed(client, id)
  if (runs.length === 0 && options.json !== true)
    printLine(io, `${id} has no run yet, so there are no changes to show.`)
  for (const run of runs) {
    const view = await client.get<DiffView>(`/runs/${encodeURIComponent(run)}/diff`)
    if (options.json === true) printJson(io, view)
    else for (const text of diffLines(createPaint(io.colours), view)) printLine(io, text)
  }
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('diff')
    .description('show what a run changed')
    .argument('<id>', 'id of a run (r-…), a task (t-…: its newest run) or a goal (g-…: the newest run of each task)')
    .option(...jsonOption)
    .action((id: string, options: JsonOption) => act((io) => diff(io, id, options)))
}
