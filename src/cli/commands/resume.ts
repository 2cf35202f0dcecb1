/** `unstuck resume`: resumes a paused goal or all of them, or switches the judge on. */
import { jsonOption, type Register } from '../command-options.ts'
import type { JudgeOption } from '../goal-control.ts'

export const register: Register = (program, act) => {
  program
    .command('resume')
    .description('resume a paused goal, or all of them')
    .argument('[goal]', 'id of a goal (g-…); without it, every paused goal is resumed')
    .option('--judge', 'only switch the judge on again')
    .option(...jsonOption)
    .action((id: string | undefined, options: JudgeOption) =>
      act(async (io) => (await import('../goal-control.ts')).resumeCommand(io, id, options)),
    )
}
