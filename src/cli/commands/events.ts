/** `unstuck events`: lists everything that happened. */
import { json, type Register } from '../command.ts'
import type { EventsOptions } from '../events.ts'

export const register: Register = (program, act) => {
  program
    .command('events')
    .description('list everything that happened, oldest first')
    .option('--goal <id>', 'show only events of this goal')
    .option('-f, --follow', 'keep printing new events')
    .option(...json)
    .action((options: EventsOptions) => act(async (io) => (await import('../events.ts')).events(io, options)))
}
