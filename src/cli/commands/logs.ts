/** `unstuck logs`: shows what the agents of a run, task or goal said and did, and what the checks printed. */
import { jsonOption, type Register } from '../command-options.ts'
import type { LogsOptions } from '../logs.ts'

export const register: Register = (program, act) => {
  program
    .command('logs')
    .description('show what an agent said and did, and what the checks printed')
    .argument('[id]', 'id of a run (r-…), a task (t-…: its newest run) or a goal (g-…: the newest run of each task)')
    .option('--last', 'show the newest run')
    .option('-f, --follow', 'keep printing as the log grows')
    .option(...jsonOption)
    .action((id: string | undefined, options: LogsOptions) =>
      act(async (io) => (await import('../logs.ts')).logsCommand(io, id, options)),
    )
}
