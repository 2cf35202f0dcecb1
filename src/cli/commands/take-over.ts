/** `unstuck take-over`: a person works on a task. */
import { json, type JsonOption, type Register } from '../command.ts'

export const register: Register = (program, act) => {
  program
    .command('take-over')
    .description('work on a task yourself: prints the line that leads into its folder and the session of its agent')
    .argument('<task>')
    .option(...json)
    .action((id: string, options: JsonOption) =>
      act(async (io) => (await import('../take-over.ts')).takeOver(io, id, options)),
    )
}
