/** `unstuck answer`: shows a question, or carries out one of its choices. */
import { jsonOption, type Register } from '../command-options.ts'
import type { AnswerOptions } from '../answer.ts'

export const register: Register = (program, act) => {
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
}
