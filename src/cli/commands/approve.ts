/** `unstuck approve`: lets finished work land as it is. */
import { jsonOption, type Register } from '../command-options.ts'
import type { ApproveOptions } from '../goal-control.ts'

export const register: Register = (program, act) => {
  program
    .command('approve')
    .description('land the finished work of a task that waits for your decision, as it is')
    .argument('<task>', 'id of a task (t-…)')
    .option('--commit <sha>', 'the commit that you looked at; other work is not approved')
    .option(...jsonOption)
    .action((id: string, options: ApproveOptions) =>
      act(async (io) => (await import('../goal-control.ts')).approveCommand(io, id, options)),
    )
}
