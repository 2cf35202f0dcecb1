/** `unstuck give-back`: a person's work is checked and landed. */
import { json, type JsonOption, type Register } from '../command.ts'

export const register: Register = (program, act) => {
  program
    .command('give-back')
    .description('have what you did in the folder of a task checked and landed')
    .argument('<task>')
    .option(...json)
    .action((id: string, options: JsonOption) =>
      act(async (io) => (await import('../take-over.ts')).giveBack(io, id, options)),
    )
}
