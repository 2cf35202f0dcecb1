/** `unstuck policy`: which rule allows or refuses a change of a path, and what other rules would have decided. */
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  const policy = program
    .command('policy')
    .description('show which rule allows or refuses a changed path, and try other rules on what happened so far')
    .showSuggestionAfterError()
  policy
    .command('explain')
    .description('tell which rule allows or refuses a change of a path, and why')
    .argument('<path>', 'path of a file, relative to the top of the repository')
    .option('--task <id>', 'judge the path for this task (t-…)')
    .option(...jsonOption)
    .action((path: string, options: JsonOption & { task?: string }) =>
      act(async (io) => (await import('../policy-explain.ts')).policyExplainCommand(io, path, options)),
    )
  policy
    .command('test')
    .description('decide stored violations and failures again with other settings and show what would change')
    .option(
      '--config <file>',
      'settings to try instead of .unstuck/policy-recovery.json or .unstuck/config.json; without it the present ones are compared with the built-in ones',
    )
    .option(...jsonOption)
    .action((options: JsonOption & { config?: string }) =>
      act(async (io) => (await import('../policy-test.ts')).policyTestCommand(io, options)),
    )
}
