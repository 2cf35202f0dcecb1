/** `unstuck events`: lists everything that happened. */
import { jsonOption, type Register } from '../command-options.ts'
import type { EventsOptions } from '../events.ts'

export const register: Register = (program, act) => {
  program
    .command('events')
    .description('list everything that happened, oldest first')
    .option('--goal <id>', 'show only events of this goal')
    .option('-f, --follow', 'keep printing new events')
    .option(...jsonOption)
    .action((options: EventsOptions) => act(async (io) => (await import('../events.ts')).eventsCommand(io, options)))
}
