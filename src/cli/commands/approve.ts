/** `unstuck approve`: lets finished work land as it is. */
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('approve')
    .description('land the finished work of a task that waits for your decision, as it is')
    .argument('<task>', 'id of a task (t-…)')
    .option(...jsonOption)
    .action((id: string, options: JsonOption) =>
      act(async (io) => (await import('../goal-control.ts')).approveCommand(io, id, options)),
    )
}
