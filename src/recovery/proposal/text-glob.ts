/**
 * The globs of `recovery.require_human`. They are about the text of a command, not about paths: `*` is any text, also with
 * spaces and slashes, `?` is one character, `\` makes the next character literal, and every other character, also `[` and `(`,
 * means itself. Compared exactly, in linear memory and at most |glob| × |text| steps.
 */
import { matchSequence } from '../policy/path-rule.ts'
import { whyNoCommand } from './command-text.ts'

type GlobPart = { char: string } | 'star' | 'any'

const partsOf = (glob: string): GlobPart[] => {
  const parts: GlobPart[] = []
  const characters = Array.from(glob)
  for (let index = 0; index < characters.length; index += 1) {
    const char = characters[index] ?? ''
    if (char === '*') parts.push('star')
    else if (char === '?') parts.push('any')
    else if (char === '\\') {
      index += 1
      parts.push({ char: characters[index] ?? '' })
    } else parts.push({ char })
  }
  return parts
}

/** Why the text is no glob; undefined = it is one. */
export const whyNoTextGlob = (glob: string): string | undefined => {
  const problem = whyNoCommand(glob)
  if (problem !== undefined) return problem
  return /(?<!\\)(?:\\\\)*\\$/.test(glob) ? 'a "\\" at its end makes nothing literal' : undefined
}

export const textGlobMatcher = (glob: string): ((text: string) => boolean) => {
  const parts = partsOf(glob)
  return (text) =>
    matchSequence(
      parts,
      Array.from(text),
      (part) => part === 'star',
      (part, char) => part === 'any' || (typeof part === 'object' && part.char === char),
    )
}
