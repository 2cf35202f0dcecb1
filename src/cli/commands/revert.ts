/** `unstuck revert`: undoes the work of a landed task on the user's branch. */
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('revert')
    .description('undo the work of a landed task on your branch, with a new commit')
    .argument('<task>', 'id of a task (t-…)')
    .option('--yes', 'do not ask for a confirmation')
    .option(...jsonOption)
    .action((id: string, options: JsonOption & { yes?: true }) =>
      act(async (io) => (await import('../confirm-revert.ts')).revertCommand(io, id, options)),
    )
}
