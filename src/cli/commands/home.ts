/** What `unstuck` does without a command: it shows what is here, or says which command a mistyped word was meant to be. */
import type { Command } from 'commander'
import { AppError } from '../../errors.ts'
import { nearest } from '../../validation.ts'
import type { Register } from '../command.ts'

const unknownCommand = (word: string, names: readonly string[]): string => {
  const guess = nearest(word, names)
  const advice = guess === undefined ? '"unstuck --help" lists the commands' : `perhaps "unstuck ${guess}" is meant`
  return `there is no command ${JSON.stringify(word)}; ${advice}. To start a goal: unstuck run "<what you want done>"`
}

/** To be registered last: the commands would inherit that surplus words are let through, and there they are a mistake. */
export const registerHome =
  (names: readonly string[]): Register =>
  (program, act) => {
    program.allowExcessArguments().action((_options, command: Command) => {
      const [unknown] = command.args
      if (unknown !== undefined) throw new AppError('USAGE', unknownCommand(unknown, names))
      act(async (io) => (await import('../home.ts')).home(io))
    })
  }
