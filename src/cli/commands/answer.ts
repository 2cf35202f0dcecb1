/** `unstuck answer`: show a question, or carry out one of its choices. */
import { json, type Register } from '../command.ts'
import type { AnswerOptions } from '../answer.ts'

export const register: Register = (program, act) => {
  program
    .command('answer')
    .description('carry out a choice of a question; without a choice, show the question and its choices')
    .argument('<id>', 'the question, task or goal')
    .argument('[choice]', 'one of the choices that the question offers')
    .option('--hint <text>', 'what the agent should know')
    .option('--check <command>', 'the command that replaces the check')
    .option('--paths <list>', 'the paths to allow, separated by commas, instead of the suggested ones')
    .option('--model <name>', 'the model to use')
    .option(...json)
    .action((id: string, choice: string | undefined, options: AnswerOptions) =>
      act(async (io) => (await import('../answer.ts')).answer(io, { id, choice }, options)),
    )
}
