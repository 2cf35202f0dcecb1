/** `unstuck events`: everything that happened. */
import { json, type Register } from '../command.ts'
import type { EventsOptions } from '../events.ts'

export const register: Register = (program, act) => {
  program
    .command('events')
    .description('everything that happened')
    .option('--goal <id>', 'of this goal')
    .option('-f, --follow', 'go on as it grows')
    .option(...json)
    .action((options: EventsOptions) => act(async (io) => (await import('../events.ts')).events(io, options)))
}
