/**
 * Commands that run what their own text does not show: code in another language, a file that is a script, what another program hands
 * over. No pattern over commands can cover what runs there. Pure.
 */
const interpreters = /^(?:node|nodejs|deno|bun|python[\d.]*|pypy3?|ruby|perl|php|lua|osascript|tclsh|Rscript)$/
const shell = /^(?:sh|bash|dash|zsh|ksh|fish|ash)$/
const editors = /^(?:vi|vim|nvim|view|ex|ed|emacs)$/

/** Short options stand together (`-xc`), so a letter is looked for in each of them. */
const hasShort = (argv: readonly string[], letters: string): boolean =>
  argv
    .slice(1)
    .some((word) => /^-[A-Za-z0-9]+$/.test(word) && Array.from(letters).some((letter) => word.includes(letter)))
const hasWord = (argv: readonly string[], pattern: RegExp): boolean => argv.slice(1).some((word) => pattern.test(word))
const has = (text: string | false): string | undefined => (text === false ? undefined : text)

/** The text that the command gives to a shell by itself: `sh -c text`, `eval a b`, `trap text EXIT`, `env -S text`. */
export const shellTextsOf = (argv: readonly string[]): string[] => {
  const [program = ''] = argv
  const after = (flag: RegExp): string[] => {
    const at = argv.findIndex((word, index) => index > 0 && flag.test(word))
    const word = argv[at] ?? ''
    if (at < 0) return []
    return word.includes('=') ? [word.slice(word.indexOf('=') + 1)] : [argv[at + 1] ?? '']
  }
  if (program === 'eval') return [argv.slice(1).join(' ')]
  if (program === 'trap')
    return argv
      .slice(1)
      .filter((word) => !word.startsWith('-'))
      .slice(0, 1)
  if (program === 'env') return after(/^(?:-[a-z0]*S|--split-string(?:=.*)?)$/)
  if (shell.test(program)) return after(/^-[A-Za-z]*c[A-Za-z]*$/)
  return /^(?:su|script|flock|runuser)$/.test(program) ? after(/^(?:-[a-z]*c|--command(?:=.*)?)$/) : []
}

type Rule = readonly [programs: RegExp, hides: (argv: readonly string[]) => string | undefined]

const inlineCode = 'code written in another language'
const script = 'a script'
const handedOver = 'code that another program hands over'

const rules: readonly Rule[] = [
  [
    shell,
    (argv) =>
      hasWord(argv, /^--version$/) || shellTextsOf(argv).length > 0 ? undefined : argv.length > 1 ? script : handedOver,
  ],
  [/^(?:source|\.)$/, () => script],
  [
    interpreters,
    (argv) => {
      const end = argv.findIndex(
        (word, index) => index > 0 && !word.startsWith('-') && !/^--?[a-z]/.test(argv[index - 1] ?? ''),
      )
      if (hasWord(end < 0 ? argv : argv.slice(0, end), /^(?:-[a-zA-Z]*[ecrpE]|--eval|--print|eval)(?:=.*)?$/))
        return inlineCode
      return has(!hasWord(argv, /^(?:[^-]|--?(?:v|V|version|help)$)/) && handedOver)
    },
  ],
  [/^[gmn]?awk$/, (argv) => has(hasWord(argv, /system\s*\(|\||getline/) && inlineCode)],
  [/^g?sed$/, (argv) => has(hasWord(argv, /(?:^|[;{}\d$/\s])e(?:\s|$|;)|\/[gimp\d]*e[gimp\d]*$/) && inlineCode)],
  [editors, (argv) => has((hasShort(argv, 'cSs') || hasWord(argv, /^(?:\+|--(?:cmd|eval|load))/)) && inlineCode)],
  [
    /^g?tar$/,
    (argv) =>
      has(
        hasWord(
          argv,
          /^--(?:checkpoint-action|to-command|use-compress-program|rsh-command|info-script)|^-[A-Za-z]*[IF]/,
        ) && 'a program given to tar',
      ),
  ],
  [
    /^git$/,
    (argv) => {
      const settings = hasWord(argv, /^(?:-c|--config-env|--exec-path=|--upload-pack|--receive-pack|-x|--exec)/)
      const recorded =
        argv.includes('config') &&
        hasWord(argv, /^(?:alias|core|diff|difftool|merge|filter|credential|gpg|sequence)\./i)
      return has(
        (settings || recorded || hasWord(argv, /^(?:bisect|foreach|filter-branch)$/)) &&
          'a program that a setting of git names',
      )
    },
  ],
  [
    /^(?:ssh|scp|sftp|rsync)$/,
    (argv) => has(hasWord(argv, /^(?:-o|-S|-e|--rsh)/) && 'a program given to the transfer'),
  ],
  [/^(?:at|batch|crontab)$/, () => 'a later command'],
  [/^alias$/, () => 'a name for another command'],
  [/^g?make$/, (argv) => has(hasWord(argv, /^--eval|^(?:SHELL|MAKEFLAGS)=/) && 'a recipe given to make')],
]

/** What runs without being shown, as the object of "it runs …"; undefined = nothing that is known. `argv` begins with the bare name. */
export const hiddenCodeOf = (argv: readonly string[]): string | undefined => {
  for (const [programs, hides] of rules) {
    const what = programs.test(argv[0] ?? '') ? hides(argv) : undefined
    if (what !== undefined) return what
  }
  return undefined
}

/** Variables that decide which program or code runs. */
export const decidesWhatRuns = (name: string): boolean =>
  /^(?:PATH|LD_\w+|DYLD_\w+|BASH_ENV|ENV|SHELL|IFS|NODE_OPTIONS|NODE_PATH|PYTHON(?:PATH|STARTUP|HOME)|PERL5(?:OPT|LIB)|RUBY(?:OPT|LIB)|GIT_\w+|(?:\w+_)?EDITOR|PAGER|VISUAL|MAKEFLAGS|npm_config_\w+|CC|CXX|RUSTC\w*)$/.test(
    name,
  )
