/** `unstuck classify`: says what the output of a failed command means. */
import type { ClassifyOptions } from '../classify.ts'
import { exitStatus, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('classify')
    .description('say what the output of a failed command means')
    .argument('[log]', 'log file, or - for standard input')
    .option('--command <line>', 'command that printed the log (default: what the log says)')
    .option('--exit-code <n>', 'exit status of the command (default: unknown)', exitStatus)
    .option('--jsonl', 'read entries as JSON lines from standard input, and print one JSON line for each')
    .action((log: string | undefined, options: ClassifyOptions) =>
      act(async (io) => (await import('../classify.ts')).classifyCommand(io, log, options)),
    )
}
