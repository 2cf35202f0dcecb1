/** `unstuck preflight`: what a start would open now, and why. */
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('preflight')
    .description('show what a start would open now (planner, agents, judge) and why; nothing is started')
    .argument('[requirement...]', 'what you want done; without it, only what waits is looked at')
    .option(...jsonOption)
    .action((words: string[], options: JsonOption) =>
      act(async (io) => (await import('../preflight.ts')).preflightCommand(io, words.join(' '), options)),
    )
}
