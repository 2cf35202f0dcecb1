/** `unstuck pause`: pauses a goal, or switches the judge off. */
import { jsonOption, type Register } from '../command-options.ts'
import type { JudgeOption } from '../goal-control.ts'

export const register: Register = (program, act) => {
  program
    .command('pause')
    .description('pause a goal: no new runs of its tasks start; or switch the judge off')
    .argument('[goal]', 'id of a goal (g-…)')
    .option(
      '--judge',
      'review nothing until "unstuck resume --judge", also after a restart; what was approved is still merged',
    )
    .option(...jsonOption)
    .action((id: string | undefined, options: JudgeOption) =>
      act(async (io) => (await import('../goal-control.ts')).pauseCommand(io, id, options)),
    )
}
