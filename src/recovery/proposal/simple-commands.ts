/**
 * The texts of a shell command for the globs that always ask a person. Nothing is ever approved by a part: this can only add a reason
 * to ask. Pure.
 */
import { programOf } from '../command/command-plan.ts'
import { behindWrapper, shellParts } from './shell-parts.ts'

export interface CommandReading {
  /** Each simple command as written and in plain words, and what a wrapper would start. */
  texts: string[]
  /** What only a shell knows at run time, or what cannot be read at all. Empty = the command is read completely. */
  unclear: string[]
}

const spellings = (words: readonly string[]): string[] => [
  words.join(' '),
  [programOf(words) ?? '', ...words.slice(1)].join(' '),
]

/** Never throws. */
export const readShellCommand = (command: string): CommandReading => {
  const { commands, unclear } = shellParts(command)
  const texts = commands
    .filter(({ words }) => words.length > 0)
    .flatMap(({ words, text }) => [text, ...spellings(words), ...behindWrapper(words).flatMap(spellings)])
  return { texts: [...new Set(texts)], unclear: [...new Set(unclear.map(({ what }) => what))] }
}
