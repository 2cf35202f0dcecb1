/** `unstuck edit`: shows or changes a task. */
import { collectValues, jsonOption, type Register } from '../command-options.ts'
import type { EditCommandOptions } from '../edit.ts'

export const register: Register = (program, act) => {
  const command = program
    .command('edit')
    .description(
      'change a task; without options, show its current values. Its recoveries and requeues are counted from zero after a change of anything but its title, as after a retry. A task that waits keeps the time of its next start, and one that was given up starts with "unstuck retry" or --retry',
    )
    .argument('<task>', 'id of a task (t-…)')
    .option('--title <text>', 'title, on one line')
    .option('--text <text>', 'instructions for the agent')
    .option(
      '--path <rule>',
      'path, folder or glob that the task may change; replaces the current ones (repeatable)',
      collectValues,
      [],
    )
    .option(
      '--add-path <rule>',
      'another path, folder or glob that the task may change (repeatable)',
      collectValues,
      [],
    )
    .option(
      '--deny <rule>',
      'path, folder or glob that the task must not change; replaces the current ones (repeatable)',
      collectValues,
    )
    .option('--no-deny', 'deny no paths')
    .option('--check <command>', 'command that must pass; replaces the current ones (repeatable)', collectValues, [])
    .option('--harness <name>', 'harness that runs the task')
    .option('--model <name>', 'model to use; "" = the default of the harness')
    .option('--why <reason>', 'reason for the change; required if the task may change more paths than before')
    .option('--retry', 'retry the task at once')
    .option(...jsonOption)
  command.action((id: string, options: EditCommandOptions) =>
    act(async (io) => (await import('../edit.ts')).editCommand(io, id, options, () => command.helpInformation())),
  )
}
