/** The commands with which a person decides, each declared by its arguments and options; what it does is loaded when it runs. */
import { jsonOption, type Register, type JsonOption } from '../command-options.ts'
import type { AnswerOptions } from '../answer.ts'
import type { ApproveOptions, RejectOptions } from '../goal-control.ts'
import type { RecoveryOptions } from '../answer-recovery.ts'
import type { LandOptions } from '../run/land.ts'

export const decideCommands = {
  answer: (program, act) => {
    program
      .command('answer')
      .description('show a question and its choices, or carry out one of them')
      .argument('<id>', 'id of a question (q-…), a task (t-…) or a goal (g-…)')
      .argument('[choice]', 'choice to carry out, or its number; without it, the question is shown')
      .option('--hint <text>', 'what the agent should know in its next attempt')
      .option('--check <command>', 'command that replaces the failing check')
      .option('--paths <list>', 'paths to allow, separated by commas, instead of the suggested ones')
      .option('--model <name>', 'model to use')
      .option('--command <text>', 'recovery command to run instead of the proposed one')
      .option('--note <text>', 'why, for the record')
      .option('--seen <text>', 'for the choice that changes the configuration: what showing the change printed')
      .option('--text <text>', 'new instructions for the agent')
      .option(...jsonOption)
      .action((id: string, choice: string | undefined, options: AnswerOptions) =>
        act(async (io) => (await import('../answer.ts')).answerCommand(io, { id, choice }, options)),
      )
  },

  approve: (program, act) => {
    program
      .command('approve')
      .description('land the finished work of a task that waits for your decision, as it is')
      .argument('<task>', 'id of a task (t-…)')
      .option('--commit <sha>', 'the commit that you looked at; other work is not approved')
      .option(...jsonOption)
      .action((id: string, options: ApproveOptions) =>
        act(async (io) => (await import('../goal-control.ts')).approveCommand(io, id, options)),
      )
  },

  reject: (program, act) => {
    program
      .command('reject')
      .description('have the finished work of a task corrected before it lands; "unstuck diff <task>" shows it')
      .argument('<task>', 'id of a task (t-…)')
      .requiredOption('--note <text>', 'what has to be corrected')
      .option('--commit <sha>', 'the commit that you looked at; other work is not rejected')
      .option(...jsonOption)
      .action((id: string, options: RejectOptions) =>
        act(async (io) => (await import('../goal-control.ts')).rejectCommand(io, id, options)),
      )
  },

  'approve-recovery': (program, act) => {
    program
      .command('approve-recovery')
      .description('run the recovery command that an agent proposed, after the question about it')
      .requiredOption('--loop <goal>', 'id of the goal (g-…)')
      .option('--note <text>', 'why, for the record')
      .option(...jsonOption)
      .action((options: RecoveryOptions) =>
        act(async (io) => (await import('../answer-recovery.ts')).recoveryCommand(io, 'approve', options)),
      )
  },

  'reject-recovery': (program, act) => {
    program
      .command('reject-recovery')
      .description('do not run the proposed recovery command; the task continues without it')
      .requiredOption('--loop <goal>', 'id of the goal (g-…)')
      .option('--note <text>', 'why, for the record')
      .option(...jsonOption)
      .action((options: RecoveryOptions) =>
        act(async (io) => (await import('../answer-recovery.ts')).recoveryCommand(io, 'reject', options)),
      )
  },

  'resolve-recovery': (program, act) => {
    program
      .command('resolve-recovery')
      .description('say that you solved the problem by hand; the work is checked again')
      .requiredOption('--loop <goal>', 'id of the goal (g-…)')
      .option('--note <text>', 'why, for the record')
      .option(...jsonOption)
      .action((options: RecoveryOptions) =>
        act(async (io) => (await import('../answer-recovery.ts')).recoveryCommand(io, 'resolve', options)),
      )
  },

  land: (program, act) => {
    program
      .command('land')
      .description(
        'land a ready goal on your branch; if your branch has moved, the work is rebased and verified again first',
      )
      .argument('<goal>', 'id of a goal (g-…)')
      .option(
        '--done',
        'land what is done of a goal that is stuck, failed or cancelled; the rest goes on or stays as it is',
      )
      .option(
        '--into <branch>',
        'land on this branch of the repository instead of the one on which the goal was started',
      )
      .option(...jsonOption)
      .action((id: string, options: LandOptions) =>
        act(async (io) => {
          const { withLive } = await import('../live/live.ts')
          return withLive(io, options, async (live) =>
            (await import('../run/land.ts')).landGoalCommand(live, id, options),
          )
        }),
      )
  },

  revert: (program, act) => {
    program
      .command('revert')
      .description('undo the work of a landed task on your branch, with a new commit')
      .argument('<task>', 'id of a task (t-…)')
      .option('--yes', 'do not ask for a confirmation')
      .option(...jsonOption)
      .action((id: string, options: JsonOption & { yes?: true }) =>
        act(async (io) => (await import('../confirm-revert.ts')).revertCommand(io, id, options)),
      )
  },
} satisfies Record<string, Register>
