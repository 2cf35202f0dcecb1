/** `unstuck retry`: try a task or goal again. */
import { json, type Register } from '../command.ts'
import type { RetryOptions } from '../goal-control.ts'

export const register: Register = (program, act) => {
  program
    .command('retry')
    .description('try a task or goal again, with a new count of recoveries')
    .argument('<id>')
    .option(
      '--hint <text>',
      'what every next attempt at the task is told, until it is done or you give a newer hint ("" removes it)',
    )
    .option(...json)
    .action((id: string, options: RetryOptions) =>
      act(async (io) => (await import('../goal-control.ts')).retry(io, id, options)),
    )
}
