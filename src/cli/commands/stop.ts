/** `unstuck stop`: shuts down the engine of a repository, or with `--all` everything of this user. */
import type { Register } from '../command-options.ts'
import type { StopOptions } from '../engine/stop-engine.ts'

export const register: Register = (program, act) => {
  program
    .command('stop')
    .description('stop the engine of this repository')
    .option('--drain', 'start no new runs, and stop when the current ones have ended')
    .option('--all', 'stop the engines of all repositories and the embedded PostgreSQL')
    .action((options: StopOptions) =>
      act(async (io) => (await import('../engine/stop-engine.ts')).stopCommand(io, options)),
    )
}
