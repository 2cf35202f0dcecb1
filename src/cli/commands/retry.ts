/** `unstuck retry`: try a task or goal again. */
import { json, type JsonOption, type Register } from '../command.ts'

export const register: Register = (program, act) => {
  program
    .command('retry')
    .description('try a task or goal again, with a new count of recoveries')
    .argument('<id>')
    .option(...json)
    .action((id: string, options: JsonOption) =>
      act(async (io) => (await import('../goal-control.ts')).retry(io, id, options)),
    )
}
