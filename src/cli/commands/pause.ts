/** `unstuck pause`: pauses a goal. */
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('pause')
    .description('pause a goal: no new runs of its tasks start')
    .argument('<goal>', 'id of a goal (g-…)')
    .option(...jsonOption)
    .action((id: string, options: JsonOption) =>
      act(async (io) => (await import('../goal-control.ts')).pauseCommand(io, id, options)),
    )
}
