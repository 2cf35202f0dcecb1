/** `unstuck resume`: continue a paused goal, or all of them. */
import { json, type JsonOption, type Register } from '../command.ts'

export const register: Register = (program, act) => {
  program
    .command('resume')
    .description('go on with a paused goal, or with all of them')
    .argument('[goal]')
    .option(...json)
    .action((id: string | undefined, options: JsonOption) =>
      act(async (io) => (await import('../goal-control.ts')).resume(io, id, options)),
    )
}
