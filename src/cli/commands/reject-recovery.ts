/** `unstuck reject-recovery`: answers the question about a proposed recovery command. */
import { jsonOption, type Register } from '../command-options.ts'
import type { RecoveryOptions } from '../answer-recovery.ts'

export const register: Register = (program, act) => {
  program
    .command('reject-recovery')
    .description('do not run the proposed recovery command; the task continues without it')
    .requiredOption('--loop <goal>', 'id of the goal (g-…)')
    .option('--note <text>', 'why, for the record')
    .option(...jsonOption)
    .action((options: RecoveryOptions) =>
      act(async (io) => (await import('../answer-recovery.ts')).recoveryCommand(io, 'reject', options)),
    )
}
