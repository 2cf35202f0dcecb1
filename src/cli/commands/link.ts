/** `unstuck link`: links what a task waits for, or makes it wait. */
import { jsonOption, type Register } from '../command-options.ts'
import type { LinkOptions } from '../link.ts'

export const register: Register = (program, act) => {
  program
    .command('link')
    .description('link what a task waits for, such as an issue; the task then starts')
    .argument('<task>', 'id of a task (t-…)')
    .argument('[issue]', 'what is linked: a number, a URL or a name')
    .option('--wait <what>', 'make a queued task wait until this is linked')
    .option(...jsonOption)
    .action((id: string, issue: string | undefined, options: LinkOptions) =>
      act(async (io) => (await import('../link.ts')).linkCommand(io, id, issue, options)),
    )
}
