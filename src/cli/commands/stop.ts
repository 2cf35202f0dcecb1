/** `unstuck stop`: stop the engine of a repository in order. */
import type { Register } from '../command.ts'

export const register: Register = (program, act) => {
  program
    .command('stop')
    .description('stop the engine in order')
    .option('--drain', 'take no new work, and stop when the running runs have ended')
    .action((options: { drain?: boolean }) =>
      act(async (io) => (await import('../engine/stop.ts')).stop(io, options.drain === true)),
    )
}
