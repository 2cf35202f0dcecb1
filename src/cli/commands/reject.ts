/** `unstuck reject`: does not let finished work land, and says what has to be corrected. */
import { jsonOption, type Register } from '../command-options.ts'
import type { RejectOptions } from '../goal-control.ts'

export const register: Register = (program, act) => {
  program
    .command('reject')
    .description('have the finished work of a task corrected before it lands; "unstuck diff <task>" shows it')
    .argument('<task>', 'id of a task (t-…)')
    .requiredOption('--note <text>', 'what has to be corrected')
    .option('--commit <sha>', 'the commit that you looked at; other work is not rejected')
    .option(...jsonOption)
    .action((id: string, options: RejectOptions) =>
      act(async (io) => (await import('../goal-control.ts')).rejectCommand(io, id, options)),
    )
}
