/** `unstuck take-over`: lets a person work on a task instead of an agent. */
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('take-over')
    .description("work on a task yourself: prints the command that opens its folder and its agent's session")
    .argument('<task>', 'id of a task (t-…)')
    .option(...jsonOption)
    .action((id: string, options: JsonOption) =>
      act(async (io) => (await import('../take-over.ts')).takeOverCommand(io, id, options)),
    )
}
