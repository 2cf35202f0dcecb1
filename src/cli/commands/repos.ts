/** `unstuck repos`: lists the repositories in which work was started, with the state of each; takes one off the list. */
import { Argument } from 'commander'
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('repos')
    .description('list your repositories with their engines, open goals and questions; forget one')
    .addArgument(new Argument('[action]', 'without one, list them').choices(['forget']))
    .argument('[repository]', 'its id, folder or name')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
A forgotten repository keeps its goals, snapshots and logs. It is listed again when
work is started in it.`,
    )
    .action((action: string | undefined, repository: string | undefined, options: JsonOption) =>
      act(async (io) =>
        (await import('../repositories/list-repositories.ts')).reposCommand(
          io,
          [action, repository],
          options.json === true,
        ),
      ),
    )
}
