/** `unstuck runs`: all attempts, or those of a task. */
import type { Run } from '../../api/contract.ts'
import { exitCodes } from '../../errors.ts'
import { json, type JsonOption, type Register } from '../command.ts'
import { line, printJson, type Io } from '../io.ts'
import { safe, secondsText } from '../render.ts'

interface RunsOptions extends JsonOption {
  task?: string
}

const runLine = (run: Run): string => {
  const why = run.errorMeta === null ? '' : `  ${safe(run.errorMeta.message).slice(0, 100)}`
  const launches = run.launches.length > 1 ? `, ${run.launches.length} launches` : ''
  return `${run.id}  task ${run.taskId}  attempt ${run.number}  ${run.state} (${run.phase})  ${run.harness}${launches}  ${secondsText(run.spend.seconds)}${why}`
}

const runs = async (io: Io, options: RunsOptions): Promise<number> => {
  const { reading } = await import('../engine/reading.ts')
  const filter = options.task === undefined ? '' : `?task=${encodeURIComponent(options.task)}`
  const found = await reading(io, ({ client }) => client.all<Run>(`/runs${filter}`))
  if (options.json === true) printJson(io, found)
  else for (const run of found) line(io, runLine(run))
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('runs')
    .description('all attempts')
    .option('--task <id>', 'of this task')
    .option(...json)
    .action((options: RunsOptions) => act((io) => runs(io, options)))
}
