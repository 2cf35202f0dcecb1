/** The commands that look after the installation, each declared by its arguments and options; what it does is loaded when it runs. */
import { jsonOption, type JsonOption, type Register, exitStatus } from '../command-options.ts'
import { Option, Argument } from 'commander'
import type { TestOptions } from '../own-playbooks.ts'
import { channelNames, type ChannelName } from '../../domain/notification.ts'
import type { RestoreOptions } from '../restore.ts'
import { exitCodes } from '../../errors.ts'

export const lookAfterCommands = {
  config: (program, act) => {
    const config = program
      .command('config')
      .description('check the configuration files, and confirm a change that allows more')
      .showSuggestionAfterError()
    config
      .command('check')
      .description('check .unstuck/config.json, policy-recovery.json and verify.contract.json, or one file')
      .argument('[file]', 'a file to check instead')
      .option(...jsonOption)
      .action((file: string | undefined, options: JsonOption) =>
        act(async (io) => (await import('../config-check.ts')).configCheckCommand(io, file, options)),
      )
    config
      .command('confirm')
      .description('show the change of the configuration that waits, and confirm it')
      .option('--digest <digest>', 'confirm the change that was shown with this digest, without asking')
      .option(...jsonOption)
      .action((options: JsonOption & { digest?: string }) =>
        act(async (io) => (await import('../config-confirm.ts')).configConfirmCommand(io, options)),
      )
  },

  policy: (program, act) => {
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
  },

  playbook: (program, act) => {
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
  },

  notify: (program, act) => {
    const notify = program
      .command('notify')
      .description('try the channels for notifications (webhook, ntfy, desktop), list what was sent, or send it again')
      .showSuggestionAfterError()
    notify
      .command('test')
      .description('send a test over each configured channel and show the result')
      .addOption(new Option('--channel <name>', 'only this channel').choices([...channelNames]))
      .option(...jsonOption)
      .action((options: JsonOption & { channel?: ChannelName }) =>
        act(async (io) => (await import('../notify.ts')).notifyTestCommand(io, options)),
      )
    notify
      .command('list')
      .description('list the newest notifications with the state of their delivery')
      .option('--limit <count>', 'show this many, newest first (default: 20)')
      .option(...jsonOption)
      .action((options: JsonOption & { limit?: string }) =>
        act(async (io) => (await import('../notify.ts')).notifyListCommand(io, options)),
      )
    notify
      .command('retry')
      .description('send again, at once and with ten new attempts, what could not be delivered and was given up')
      .argument(
        '[id]',
        'only this notification, as "unstuck notify list" names it (default: all of the last day and of open questions)',
      )
      .option(...jsonOption)
      .action((id: string | undefined, options: JsonOption) =>
        act(async (io) => (await import('../notify.ts')).notifyRetryCommand(io, id, options)),
      )
  },

  restore: (program, act) => {
    program
      .command('restore')
      .description('list snapshots, or restore one into a new folder')
      .argument('[snapshot]', 'id of a snapshot, or of a run (r-…) for its newest snapshot')
      .option('--into <folder>', 'new or empty folder to restore into')
      .option(...jsonOption)
      .action((id: string | undefined, options: RestoreOptions) =>
        act(async (io) => (await import('../restore.ts')).restoreCommand(io, id, options)),
      )
  },

  completion: (program, act) => {
    program
      .command('completion')
      .description('print a script that completes commands and options in your shell')
      .addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
      .addHelpText('after', '\nExample:\n  source <(unstuck completion bash)')
      .action((shell: string) =>
        act(async (io) => {
          const { completionScript } = await import('../completion.ts')
          io.out(completionScript(program, shell))
          return exitCodes.ok
        }),
      )
  },

  mcp: (program, act) => {
    program
      .command('mcp')
      .description(
        'serve tools over MCP on standard input and output: to you for this repository, or to the agent of a run',
      )
      .addHelpText(
        'after',
        `
For you: add_task, status and explain, with the rights of your user. For example:
  claude mcp add unstuck -- unstuck mcp
Unstuck starts it for its own agents, with propose_recovery, report_progress and
ask_person for their run alone (docs/mcp.md).`,
      )
      .action(() => act(async (io) => (await import('../mcp/serve-tools.ts')).serveMcp(io)))
  },
} satisfies Record<string, Register>
