/** `unstuck resume`: resumes a paused goal, or all of them. */
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('resume')
    .description('resume a paused goal, or all of them')
    .argument('[goal]', 'id of a goal (g-…); without it, every paused goal is resumed')
    .option(...jsonOption)
    .action((id: string | undefined, options: JsonOption) =>
      act(async (io) => (await import('../goal-control.ts')).resumeCommand(io, id, options)),
    )
}
