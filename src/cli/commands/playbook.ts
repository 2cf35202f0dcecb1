/** `unstuck playbook`: the playbooks in use, which of yours a failure would meet, and a draft of one from a failure. */
import { Option } from 'commander'
import { exitStatus, jsonOption, type JsonOption, type Register } from '../command-options.ts'
import type { TestOptions } from '../own-playbooks.ts'

export const register: Register = (program, act) => {
  const playbook = program
    .command('playbook')
    .description('list the playbooks in use, try your own ones on a log, and draft one from a failure')
    .showSuggestionAfterError()
  playbook
    .command('list')
    .description('list your playbooks (.unstuck/playbooks) and the built-in ones')
    .option(...jsonOption)
    .action((options: JsonOption) =>
      act(async (io) => (await import('../own-playbooks.ts')).playbookListCommand(io, options)),
    )
  playbook
    .command('test')
    .description('tell which of your playbooks would apply to this log and what it would do; nothing is run')
    .argument('<log>', 'log file, or - for standard input')
    .option('--exit <n>', 'exit status of the command', exitStatus)
    .option('--command <line>', 'the check that printed the log')
    .option('--harness <name>', 'harness of the task')
    .addOption(new Option('--stream <name>', 'what the log holds (default: both)').choices(['stdout', 'stderr']))
    .option('--agent', 'the log is the error that an agent reported, not the output of a check')
    .option(...jsonOption)
    .action((log: string, options: TestOptions) =>
      act(async (io) => (await import('../own-playbooks.ts')).playbookTestCommand(io, log, options)),
    )
  playbook
    .command('draft')
    .description('print a playbook for the failure of a run or task, to complete and save')
    .argument('<id>', 'id of a run (r-…) or a task (t-…)')
    .action((id: string) => act(async (io) => (await import('../own-playbooks.ts')).playbookDraftCommand(io, id)))
}
