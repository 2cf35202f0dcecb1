/**
 * An entry of `recovery.require_human` as a pattern of commands: it covers the arguments that follow it (`git push` covers
 * `git push origin main`), and its options in any order and spelling (`rm -rf` covers `rm -fr` and `rm --recursive --force`).
 * A pattern can only add a reason to ask, so a spelling too many costs a question. Pure.
 */
import { textGlobMatcher } from './text-glob.ts'

interface CommandPattern {
  matchesText: (text: string) => boolean
  matchesWords: (words: readonly string[]) => boolean
}

/** Long options that tools spell with one letter as well. */
const letters: Readonly<Record<string, string>> = {
  '--recursive': 'r',
  '--force': 'f',
  '--global': 'g',
  '--delete': 'd',
  '--all': 'a',
  '--quiet': 'q',
  '--yes': 'y',
}

const optionsOf = (word: string): string[] => {
  const name = word.split('=')[0] ?? word
  if (name.startsWith('--')) return [letters[name] ?? name]
  return Array.from(name.slice(1)).map((letter) => (letter === 'R' ? 'r' : letter))
}

const isOption = (word: string): boolean => /^-./.test(word) && word !== '--'

/** The options as a set, and apart from them the rest as a text. */
const apart = (words: readonly string[]): { options: Set<string>; rest: string } => ({
  options: new Set(words.filter(isOption).flatMap(optionsOf)),
  rest: words.filter((word) => !isOption(word)).join(' '),
})

export const commandPatternMatcher = (pattern: string): CommandPattern => {
  const matchers = [textGlobMatcher(pattern), textGlobMatcher(`${pattern} *`)]
  const matchesText = (text: string): boolean => matchers.some((matches) => matches(text))
  const words = pattern.split(' ').filter((word) => word !== '')
  const { options, rest } = apart(words)
  // A glob within an option, or an escaped character, is about the text alone.
  if (options.size === 0 || /\\/.test(pattern) || words.filter(isOption).some((word) => /[*?]/.test(word)))
    return { matchesText, matchesWords: (given) => matchesText(given.join(' ')) }
  const restMatchers = [textGlobMatcher(rest), textGlobMatcher(`${rest} *`)]
  return {
    matchesText,
    matchesWords: (given) => {
      if (matchesText(given.join(' '))) return true
      const found = apart(given)
      const hasAll = [...options].every((option) => found.options.has(option))
      return hasAll && restMatchers.some((matches) => matches(found.rest))
    },
  }
}
