/** `unstuck approve`: let finished work land as it is. */
import { json, type JsonOption, type Register } from '../command.ts'

export const register: Register = (program, act) => {
  program
    .command('approve')
    .description('let the finished work of a task land as it is, although it weakened its checks')
    .argument('<task>')
    .option(...json)
    .action((id: string, options: JsonOption) =>
      act(async (io) => (await import('../goal-control.ts')).approve(io, id, options)),
    )
}
