/** `unstuck stop`: shuts down the engine of a repository. */
import type { Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('stop')
    .description('stop the engine of this repository')
    .option('--drain', 'start no new runs, and stop when the current ones have ended')
    .action((options: { drain?: boolean }) =>
      act(async (io) => (await import('../engine/stop-engine.ts')).stopCommand(io, options.drain === true)),
    )
}
