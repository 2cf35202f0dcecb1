/** `unstuck give-back`: hands back a task, so that the person's work is checked and landed. */
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('give-back')
    .description('hand back a task that you took over; your work is then checked and landed')
    .argument('<task>', 'id of a task (t-…)')
    .option(...jsonOption)
    .action((id: string, options: JsonOption) =>
      act(async (io) => (await import('../take-over.ts')).giveBackCommand(io, id, options)),
    )
}
