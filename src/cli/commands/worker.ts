/** `unstuck worker`: an engine that only executes. */
import { database, withDatabase, type DatabaseOption, type Register } from '../command.ts'

export const register: Register = (program, act) => {
  program
    .command('worker')
    .description('an engine that only executes, for a PostgreSQL store that it shares with others')
    .option(...database)
    .action((options: DatabaseOption) =>
      act(async (io) => (await import('../engine/up.ts')).worker(withDatabase(io, options))),
    )
}
