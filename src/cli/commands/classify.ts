/** `unstuck classify`: say what the output of a failed command means. */
import type { ClassifyOptions } from '../classify.ts'
import { exitStatus, type Register } from '../command.ts'

export const register: Register = (program, act) => {
  program
    .command('classify')
    .description('say what the output of a failed command means')
    .argument('[log]', 'a log file, or - for standard input')
    .option('--command <line>', 'the command that printed it (default: what the log itself says)')
    .option('--exit-code <n>', 'its exit status (default: unknown)', exitStatus)
    .option('--jsonl', 'read entries as JSON lines from standard input, answer one JSON line each')
    .action((log: string | undefined, options: ClassifyOptions) =>
      act(async (io) => (await import('../classify.ts')).classify(io, log, options)),
    )
}
