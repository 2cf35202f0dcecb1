/** The commands that change goals and tasks, each declared by its arguments and options; what it does is loaded when it runs. */
import { jsonOption, type Register, collectValues, type JsonOption } from '../command-options.ts'
import type { RetryCommandOptions, JudgeOption } from '../goal-control.ts'
import type { EditCommandOptions } from '../edit.ts'
import type { LinkOptions } from '../link.ts'
import { Argument } from 'commander'
import type { GrantsCommandOptions } from '../grants.ts'

export const changeCommands = {
  retry: (program, act) => {
    program
      .command('retry')
      .description(
        'try a task or goal again at once; its recoveries and requeues are counted from zero. A task that was given up or cancelled comes back with the tasks that were cancelled because they depend on it',
      )
      .argument('<id>', 'id of a task (t-…) or a goal (g-…)')
      .option(
        '--hint <text>',
        'what the agent should know in every later attempt at the task, until a new hint replaces it ("" removes it)',
      )
      .option(...jsonOption)
      .action((id: string, options: RetryCommandOptions) =>
        act(async (io) => (await import('../goal-control.ts')).retryCommand(io, id, options)),
      )
  },

  tell: (program, act) => {
    program
      .command('tell')
      .description(
        'tell the agent that works on a task something now: it is interrupted, keeps its files, and continues with your words',
      )
      .argument('<task>', 'id of a task (t-…)')
      .argument('<message>', 'what the agent should know; later attempts read it as well')
      .option(...jsonOption)
      .action((id: string, message: string, options: JsonOption) =>
        act(async (io) => (await import('../goal-control.ts')).tellCommand(io, id, { message, ...options })),
      )
  },

  edit: (program, act) => {
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
  },

  'take-over': (program, act) => {
    program
      .command('take-over')
      .description("work on a task yourself: prints the command that opens its folder and its agent's session")
      .argument('<task>', 'id of a task (t-…)')
      .option(...jsonOption)
      .action((id: string, options: JsonOption) =>
        act(async (io) => (await import('../take-over.ts')).takeOverCommand(io, id, options)),
      )
  },

  'give-back': (program, act) => {
    program
      .command('give-back')
      .description('hand back a task that you took over; your work is then checked and landed')
      .argument('<task>', 'id of a task (t-…)')
      .option(...jsonOption)
      .action((id: string, options: JsonOption) =>
        act(async (io) => (await import('../take-over.ts')).giveBackCommand(io, id, options)),
      )
  },

  cancel: (program, act) => {
    program
      .command('cancel')
      .description('cancel a task or goal; a snapshot of its work is kept')
      .argument('<id>', 'id of a task (t-…) or a goal (g-…)')
      .option(...jsonOption)
      .action((id: string, options: JsonOption) =>
        act(async (io) => (await import('../goal-control.ts')).cancelCommand(io, id, options)),
      )
  },

  pause: (program, act) => {
    program
      .command('pause')
      .description('pause a goal: no new runs of its tasks start; or switch the judge off')
      .argument('[goal]', 'id of a goal (g-…)')
      .option(
        '--judge',
        'review nothing until "unstuck resume --judge", also after a restart; what was approved is still merged',
      )
      .option(...jsonOption)
      .action((id: string | undefined, options: JudgeOption) =>
        act(async (io) => (await import('../goal-control.ts')).pauseCommand(io, id, options)),
      )
  },

  resume: (program, act) => {
    program
      .command('resume')
      .description('resume a paused goal, or all of them')
      .argument('[goal]', 'id of a goal (g-…); without it, every paused goal is resumed')
      .option('--judge', 'only switch the judge on again')
      .option(...jsonOption)
      .action((id: string | undefined, options: JudgeOption) =>
        act(async (io) => (await import('../goal-control.ts')).resumeCommand(io, id, options)),
      )
  },

  link: (program, act) => {
    program
      .command('link')
      .description('link what a task waits for, such as an issue; the task then starts')
      .argument('<task>', 'id of a task (t-…)')
      .argument('[issue]', 'what is linked: a number, a URL or a name')
      .option('--wait <what>', 'make a queued task wait until this is linked')
      .option(...jsonOption)
      .action((id: string, issue: string | undefined, options: LinkOptions) =>
        act(async (io) => (await import('../link.ts')).linkCommand(io, id, issue, options)),
      )
  },

  grants: (program, act) => {
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
  },
} satisfies Record<string, Register>
