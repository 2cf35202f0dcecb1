/** `unstuck worker`: runs an engine that only executes tasks. */
import { databaseOption, withDatabase, type DatabaseOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('worker')
    .description('run an engine that only executes tasks, for a PostgreSQL store shared with other engines')
    .option(...databaseOption)
    .action((options: DatabaseOption) =>
      act(async (io) => (await import('../engine/up.ts')).workerCommand(withDatabase(io, options))),
    )
}
