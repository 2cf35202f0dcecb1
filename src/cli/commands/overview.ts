/** `unstuck` without a command: shows an overview, or suggests the command for a mistyped word. */
import type { Command } from 'commander'
import { AppError } from '../../errors.ts'
import { nearestWord } from '../../validation.ts'
import type { Register } from '../command-options.ts'

const unknownCommand = (word: string, names: readonly string[]): string => {
  const guess = nearestWord(word, names)
  const advice = guess === undefined ? '"unstuck --help" lists the commands' : `did you mean "unstuck ${guess}"?`
  return `unknown command ${JSON.stringify(word)}; ${advice}\nTo start a goal: unstuck run "<what you want done>"`
}

/**
 * Register it last: commands registered later would inherit that extra arguments are allowed, and accept mistyped ones. `word`: the
 * command that does not exist; its options are not the mistake.
 */
export const registerOverview =
  (names: readonly string[], word: string | undefined): Register =>
  (program, act) => {
    program
      .allowUnknownOption(word !== undefined)
      .allowExcessArguments()
      .action((_options, command: Command) => {
        const [unknown] = command.args
        if (unknown !== undefined) throw new AppError('USAGE', unknownCommand(unknown, names))
        act(async (io) => (await import('../overview.ts')).overviewCommand(io))
      })
  }
