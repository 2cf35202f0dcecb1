/**
 * Breaks a source file so that it fails when it is loaded, while linters and type checks stay green: a check that passes all the same
 * does not notice the file. What has no initialiser gets a form that no compiler accepts, and data are emptied. Pure.
 */

/** `late`: at the end of the file, so that a file which ends the program before that is not reached. `early`: at its beginning. */
export type BreakAt = 'late' | 'early'

/** What a broken file reports where its language can report something. */
export const brokenMessage = 'unstuck: this file was broken on purpose'

interface Breaker {
  file: RegExp
  late: (text: string) => string
  /** Absent where the place makes no difference. */
  early?: (text: string) => string
}

const after =
  (line: string) =>
  (text: string): string =>
    `${text.replace(/\s*$/, '')}\n${line}\n`

/** Behind the lines that must come first, such as `#!…`. */
const before =
  (line: string, first: RegExp = /^#![^\n]*\n/) =>
  (text: string): string => {
    const head = first.exec(text)?.[0] ?? ''
    return `${head}${line}\n${text.slice(head.length)}`
  }

const javascript = `if (Date.now() > 0) throw new Error('${brokenMessage}')`
const python = `raise RuntimeError('${brokenMessage}')`
const pythonHead = /^(?:(?:#[^\n]*)?\n)*(?:from __future__[^\n]*\n)*/

/** In the body of the first class, where a static initialiser may stand. */
const inClass = (text: string): string => {
  const open = /\b(?:class|record)\s+\w+[^{;]*\{/.exec(text)
  if (open === null) return after(brokenMessage)(text)
  const at = open.index + open[0].length
  return `${text.slice(0, at)} static { if (System.nanoTime() != 0L) throw new IllegalStateException("${brokenMessage}"); } ${text.slice(at)}`
}

const breakers: readonly Breaker[] = [
  { file: /(?<!\.d)\.[cm]?[jt]sx?$/, late: after(`;${javascript}`), early: before(javascript) },
  { file: /\.pyw?$/, late: after(python), early: before(python, pythonHead) },
  { file: /\.go$/, late: after(`\nfunc init() { panic("${brokenMessage}") }`) },
  { file: /\.rs$/, late: after(`compile_error!("${brokenMessage}");`) },
  { file: /\.java$/, late: inClass },
  { file: /\.rb$/, late: after(`raise '${brokenMessage}'`), early: before(`raise '${brokenMessage}'`) },
  { file: /\.php$/, late: (text) => text.replace('<?php', `<?php throw new \\Exception('${brokenMessage}');`) },
  { file: /\.(?:sh|bash|zsh|bats)$/, late: before('exit 97') },
  { file: /\.p[lm]$/, late: before(`die '${brokenMessage}';`) },
  { file: /\.exs?$/, late: after(`raise "${brokenMessage}"`) },
  {
    file: /\.(?:c|cc|cpp|cxx|m|mm)$/,
    late: after('__attribute__((constructor)) static void unstuck_broken(void) { __builtin_trap(); }'),
  },
  // No initialiser runs in these, so a form that does not compile is all there is.
  {
    file: /\.(?:kts?|scala|groovy|cs|fs|swift|hs|ml|elm|dart|zig|nim|lua|jl|r|clj|erl|vue|svelte|astro|h|hh|hpp)$/i,
    late: after(`<<< ${brokenMessage}`),
  },
]

const data =
  /\.(?:json5?|jsonc|ya?ml|toml|xml|csv|tsv|sql|html?|css|scss|less|graphql|proto|tmpl|hbs|ejs|svg|ini|txt)$/i

/** Whether the file is code of a known language. */
export const isSource = (path: string): boolean => breakers.some(({ file }) => file.test(path))

/** The broken text; undefined = the file cannot be broken, or breaking it there is the same as at the other place. */
export const brokenText = (path: string, text: string, place: BreakAt = 'late'): string | undefined => {
  const breaker = breakers.find(({ file }) => file.test(path))
  if (breaker !== undefined) return (place === 'late' ? breaker.late : breaker.early)?.(text)
  return place === 'late' && data.test(path) && text !== '' ? '' : undefined
}
