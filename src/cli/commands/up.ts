/** `unstuck up`: the engine of a repository under a parent that restarts it. */
import { database, positive, withDatabase, type DatabaseOption, type Register } from '../command.ts'
import type { UpOptions } from '../engine/up.ts'

export const register: Register = (program, act) => {
  program
    .command('up')
    .description("keep this repository's engine running; restarts it after a crash")
    .option('--idle-exit <seconds>', 'end after this long without work', positive)
    .option('--control-only', 'lead and answer, and execute nothing')
    .option(...database)
    .action((options: UpOptions & DatabaseOption) =>
      act(async (io) => (await import('../engine/up.ts')).up(withDatabase(io, options), options)),
    )
}
