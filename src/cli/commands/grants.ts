/** `unstuck grants`: lists, adds and ends the paths that tasks may change in addition, and the paths that count as generated. */
import { Argument } from 'commander'
import { jsonOption, type Register } from '../command-options.ts'
import type { GrantsCommandOptions } from '../grants.ts'

export const register: Register = (program, act) => {
  program
    .command('grants')
    .description('list paths that were granted to tasks or learned as generated; add, revoke or forget one')
    .addArgument(new Argument('[action]', 'without one, list them').choices(['add', 'revoke', 'forget']))
    .argument('[path]', 'path to add or forget; path or id (p-…) to revoke')
    .option('--area <folder>', 'add: for all tasks that work in this folder')
    .option('--task <id>', 'add: for this task')
    .option('--why <reason>', 'add: reason, which is shown with the grant')
    .option('--all', 'list also those that have ended')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Examples:
  unstuck grants add Makefile --area src/parser --why "new modules are listed there"
  unstuck grants revoke Makefile
  unstuck grants forget coverage`,
    )
    .action((action: string | undefined, path: string | undefined, options: GrantsCommandOptions) =>
      act(async (io) => (await import('../grants.ts')).grantsCommand(io, [action, path], options)),
    )
}
