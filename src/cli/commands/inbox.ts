/** `unstuck inbox`: lists the questions that wait for a person; in a terminal they are answered by number, one after the other. */
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export interface InboxOptions extends JsonOption {
  all?: boolean
  list?: boolean
}

export const register: Register = (program, act) => {
  program
    .command('inbox')
    .description('show the questions that wait for you, grouped by cause; in a terminal, answer them by number')
    .option('--all', 'list the questions of all your repositories')
    .option('--list', 'only list them, also in a terminal')
    .option(...jsonOption)
    .action((options: InboxOptions) => act(async (io) => (await import('../inbox.ts')).inboxCommand(io, options)))
}
