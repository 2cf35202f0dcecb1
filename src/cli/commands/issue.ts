/** `unstuck issue`: works on an issue of the forge. */
import { Option } from 'commander'
import { databaseOption, withDatabase, type DatabaseOption, type Register } from '../command-options.ts'
import type { RunOptions } from '../run/request.ts'

export const register: Register = (program, act) => {
  program
    .command('issue')
    .description('work on an issue of the forge (forge.kind in .unstuck/config.json), as "run" does on a sentence')
    .argument('<number>', 'number of an open issue, or its id in the tracker of forge.command')
    .option('--plan', 'let a planner divide the goal into tasks first')
    .option('--review-plan', 'as --plan, and ask you before the tasks begin')
    .option('--harness <name>', 'harness of the task')
    .addOption(
      new Option('--judge <mode>', 'who decides whether finished work may land, besides its checks').choices([
        'auto',
        'llm',
        'human',
      ]),
    )
    .option('--dry-run', 'show the plan and change nothing')
    .option('--detach', 'return as soon as the goal is accepted')
    .option('--no-wait', 'exit with 75 instead of waiting when a limit of an account or of tokens per hour is reached')
    .option(...databaseOption)
    .option('--json', 'print events as JSON lines, and the goal last')
    .action((number: string, options: Omit<RunOptions, 'allowDir'> & DatabaseOption) =>
      act(async (given) => {
        const io = withDatabase(given, options)
        const { withLive } = await import('../live/live.ts')
        return withLive(io, options, async (live) => (await import('../issue.ts')).issueCommand(live, number, options))
      }),
    )
}
