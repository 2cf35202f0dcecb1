/** `unstuck pause`: start no new work of a goal. */
import { json, type JsonOption, type Register } from '../command.ts'

export const register: Register = (program, act) => {
  program
    .command('pause')
    .description('start no new work of a goal')
    .argument('<goal>')
    .option(...json)
    .action((id: string, options: JsonOption) =>
      act(async (io) => (await import('../goal-control.ts')).pause(io, id, options)),
    )
}
