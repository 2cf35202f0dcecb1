/** `unstuck resolve-recovery`: answers the question about a proposed recovery command. */
import { jsonOption, type Register } from '../command-options.ts'
import type { RecoveryOptions } from '../answer-recovery.ts'

export const register: Register = (program, act) => {
  program
    .command('resolve-recovery')
    .description('say that you solved the problem by hand; the work is checked again')
    .requiredOption('--loop <goal>', 'id of the goal (g-…)')
    .option('--note <text>', 'why, for the record')
    .option(...jsonOption)
    .action((options: RecoveryOptions) =>
      act(async (io) => (await import('../answer-recovery.ts')).recoveryCommand(io, 'resolve', options)),
    )
}
