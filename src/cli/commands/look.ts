/** The commands that only show, each declared by its arguments and options; what it does is loaded when it runs. */
import { Argument } from 'commander'
import { jsonOption, type JsonOption, type Register, exitStatus } from '../command-options.ts'
import type { LogsOptions } from '../logs.ts'
import type { EventsOptions } from '../events.ts'
import type { ClassifyOptions } from '../classify.ts'

export const lookCommands = {
  repos: (program, act) => {
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
  },

  logs: (program, act) => {
    program
      .command('logs')
      .description('show what an agent said and did, and what the checks printed')
      .argument('[id]', 'id of a run (r-…), a task (t-…: its newest run) or a goal (g-…: the newest run of each task)')
      .option('--last', 'show the newest run')
      .option('-f, --follow', 'keep printing as the log grows')
      .option(...jsonOption)
      .action((id: string | undefined, options: LogsOptions) =>
        act(async (io) => (await import('../logs.ts')).logsCommand(io, id, options)),
      )
  },

  events: (program, act) => {
    program
      .command('events')
      .description('list everything that happened, oldest first')
      .option('--goal <id>', 'show only events of this goal')
      .option('-f, --follow', 'keep printing new events')
      .option(...jsonOption)
      .action((options: EventsOptions) => act(async (io) => (await import('../events.ts')).eventsCommand(io, options)))
  },

  harness: (program, act) => {
    program
      .command('harness')
      .description('list the agent CLIs: version, login, location and capabilities')
      .option(...jsonOption)
      .action((options: JsonOption) => act(async (io) => (await import('../harness.ts')).harnessCommand(io, options)))
  },

  classify: (program, act) => {
    program
      .command('classify')
      .description('say what the output of a failed command means')
      .argument('[log]', 'log file, or - for standard input')
      .option('--command <line>', 'command that printed the log (default: what the log says)')
      .option('--exit-code <n>', 'exit status of the command (default: unknown)', exitStatus)
      .option('--jsonl', 'read entries as JSON lines from standard input, and print one JSON line for each')
      .action((log: string | undefined, options: ClassifyOptions) =>
        act(async (io) => (await import('../classify.ts')).classifyCommand(io, log, options)),
      )
  },
} satisfies Record<string, Register>
