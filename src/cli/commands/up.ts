/** `unstuck up`: runs the engine of a repository under a parent that restarts it after a crash. */
import { databaseOption, positiveNumber, withDatabase, type DatabaseOption, type Register } from '../command-options.ts'
import type { UpOptions } from '../engine/up.ts'

export const register: Register = (program, act) => {
  program
    .command('up')
    .description('run the engine of this repository, and restart it after a crash')
    .option('--all', 'run one engine for all your repositories, and for each one in which you type "unstuck run" later')
    .option('--idle-exit <seconds>', 'exit after this many seconds without work', positiveNumber)
    .option('--control-only', 'serve the dashboard and coordinate workers, but run no tasks')
    .option(
      '--public-url <url>',
      'add a link to each notification of a question that opens a page to answer it; a proxy of yours passes <url>/answer/ to the engine',
    )
    .option(
      '--allow-hidden-callers',
      'let browsers in that cannot be found on this machine (through ssh or a proxy) while agents run; an agent could hide like that as well',
    )
    .option(...databaseOption)
    .action(({ all = false, ...options }: UpOptions & DatabaseOption & { all?: boolean }) =>
      act(async (io) =>
        all
          ? (await import('../engine/up-all.ts')).upAllCommand(io, options, options.databaseUrl)
          : (await import('../engine/up.ts')).upCommand(withDatabase(io, options), options),
      ),
    )
}
