/** `unstuck retry`: tries a task or goal again. */
import { jsonOption, type Register } from '../command-options.ts'
import type { RetryCommandOptions } from '../goal-control.ts'

export const register: Register = (program, act) => {
  program
    .command('retry')
    .description(
      'try a task or goal again at once; its recoveries and requeues are counted from zero. A task that was given up or cancelled comes back with the tasks that were cancelled because they depend on it',
    )
    .argument('<id>', 'id of a task (t-…) or a goal (g-…)')
    .option(
      '--hint <text>',
      'what the agent should know in every later attempt at the task, until a new hint replaces it ("" removes it)',
    )
    .option(...jsonOption)
    .action((id: string, options: RetryCommandOptions) =>
      act(async (io) => (await import('../goal-control.ts')).retryCommand(io, id, options)),
    )
}
