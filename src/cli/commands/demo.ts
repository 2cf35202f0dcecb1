/** `unstuck demo`: plays six tasks that fail in six ways. */
import { collectValues, type Register } from '../command-options.ts'
import type { DemoOptions } from '../demo/demo.ts'

export const register: Register = (program, act) => {
  program
    .command('demo')
    .description('play six tasks, each of which fails in its own way, in a temporary repository')
    .option('--keep', 'keep the folders of the demo')
    .option(
      '--disable <playbook>',
      'switch off a playbook, to see what happens without it (repeatable)',
      collectValues,
      [],
    )
    .option('--json', 'print the report as JSON')
    .action((options: DemoOptions) => act(async (io) => (await import('../demo/demo.ts')).demoCommand(io, options)))
}
