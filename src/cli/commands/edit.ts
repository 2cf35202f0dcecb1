/** `unstuck edit`: change a task. */
import { collect, json, type Register } from '../command.ts'
import type { EditOptions } from '../edit.ts'

export const register: Register = (program, act) => {
  const command = program
    .command('edit')
    .description('change a task; without an option, show what can be changed and its present values')
    .argument('<task>')
    .option('--title <text>', 'the title, one line')
    .option('--text <text>', 'what the agent is asked to do')
    .option(
      '--path <rule>',
      'a path, folder or glob that may change, instead of the present ones (repeatable)',
      collect,
      [],
    )
    .option('--add-path <rule>', 'one more of them (repeatable)', collect, [])
    .option(
      '--deny <rule>',
      'a path, folder or glob that must not change, instead of the present ones (repeatable)',
      collect,
    )
    .option('--no-deny', 'no path is denied any more')
    .option('--check <command>', 'a check that must pass, instead of the present ones (repeatable)', collect, [])
    .option('--harness <name>', 'the agent that does it')
    .option('--model <name>', 'its model; "" = the one that the harness takes by itself')
    .option('--why <reason>', 'why; needed where the task may change more than before')
    .option('--retry', 'try the task again at once')
    .option(...json)
  command.action((id: string, options: EditOptions) =>
    act(async (io) => (await import('../edit.ts')).edit(io, id, options, () => command.helpInformation())),
  )
}
