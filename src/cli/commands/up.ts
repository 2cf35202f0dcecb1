/** `unstuck up`: runs the engine of a repository under a parent that restarts it after a crash. */
import { database, positive, withDatabase, type DatabaseOption, type Register } from '../command.ts'
import type { UpOptions } from '../engine/up.ts'

export const register: Register = (program, act) => {
  program
    .command('up')
    .description('run the engine of this repository, and restart it after a crash')
    .option('--idle-exit <seconds>', 'exit after this many seconds without work', positive)
    .option('--control-only', 'serve the dashboard and coordinate workers, but run no tasks')
    .option(...database)
    .action((options: UpOptions & DatabaseOption) =>
      act(async (io) => (await import('../engine/up.ts')).up(withDatabase(io, options), options)),
    )
}
