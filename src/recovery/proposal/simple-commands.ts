/**
 * The texts of a shell command for the globs that always ask a person. Nothing is ever approved by a part: this can only add a reason
 * to ask. Pure.
 */
import { programOf } from '../command/command-plan.ts'
import { behindWrapper, shellParts, withoutLeadingOptions } from './shell-parts.ts'

export interface CommandReading {
  /** Each simple command as written. */
  texts: string[]
  /** Each simple command as the words that the shell passes, also other spellings of them and what a wrapper would start. */
  words: string[][]
  /** What only a shell knows at run time, what cannot be read at all, and code that the text does not show. Empty = read completely. */
  unclear: string[]
}

/** As written, with the bare name of the program, and with its options before the subcommand left out. */
const spellings = (words: readonly string[]): string[][] => {
  const bare = [programOf(words) ?? '', ...words.slice(1)]
  return [[...words], bare, ...withoutLeadingOptions(bare)]
}

/** Never throws. */
export const readShellCommand = (command: string): CommandReading => {
  const { commands, unclear, piped, hidden } = shellParts(command)
  const named = commands.filter(({ words }) => words.length > 0)
  const words = named.flatMap((each) => [each.words, ...behindWrapper(each.words)].flatMap(spellings))
  const unread = [
    ...unclear.map(({ what }) => what),
    ...hidden.map(({ what }) => what),
    ...piped.map(() => 'a shell that runs what another program prints'),
  ]
  return {
    texts: [...new Set(named.map(({ text }) => text))],
    words: [...new Map(words.map((each) => [each.join(' '), each])).values()],
    unclear: [...new Set(unread)],
  }
}
