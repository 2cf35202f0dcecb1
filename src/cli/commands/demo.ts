/** `unstuck demo`: six tasks that fail in six ways. */
import { collect, type Register } from '../command.ts'
import type { DemoOptions } from '../demo/demo.ts'

export const register: Register = (program, act) => {
  program
    .command('demo')
    .description('six tasks, each of which fails in its own way, in a repository of its own')
    .option('--keep', 'leave the folders where they are')
    .option('--disable <playbook>', 'switch a playbook off, to see what happens without it (repeatable)', collect, [])
    .option('--json', 'the report as JSON')
    .action((options: DemoOptions) => act(async (io) => (await import('../demo/demo.ts')).demo(io, options)))
}
