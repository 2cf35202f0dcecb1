/** `unstuck cancel`: ends a task or goal. */
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('cancel')
    .description('cancel a task or goal; a snapshot of its work is kept')
    .argument('<id>', 'id of a task (t-…) or a goal (g-…)')
    .option(...jsonOption)
    .action((id: string, options: JsonOption) =>
      act(async (io) => (await import('../goal-control.ts')).cancelCommand(io, id, options)),
    )
}
