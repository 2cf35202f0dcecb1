/** Shell completion, generated from the declared commands. It completes only commands and options, so it never has to start a program. */
import type { Command } from 'commander'

interface Entry {
  name: string
  description: string
  /** Options, and the choices of its arguments. */
  words: string[]
}

const entriesOf = (program: Command): Entry[] =>
  program
    .createHelp()
    .visibleCommands(program)
    .filter((command) => command.name() !== 'help')
    .map((command) => ({
      name: command.name(),
      description: command.description().split(/[;:(]/)[0]?.trim() ?? '',
      words: [
        ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
        ...[...command.options, ...program.options.filter(({ long }) => long !== '--version')]
          .flatMap(({ long, short }) => [long, short])
          .concat('--help')
          .filter((option) => option != null),
      ],
    }))

/** Text for single quotes in all three shells. */
const quoted = (text: string): string => text.replaceAll("'", '’')

const bash = (entries: Entry[]): string => `_unstuck() {
  local word="\${COMP_WORDS[COMP_CWORD]}" command="" at
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in -*) ;; *) command="\${COMP_WORDS[at]}"; break ;; esac
  done
  local words
  case "$command" in
    "") words='${entries.map(({ name }) => name).join(' ')} --help --version' ;;
${entries.map(({ name, words }) => `    ${name}) words='${words.join(' ')}' ;;`).join('\n')}
    *) words='' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _unstuck unstuck
`

const zsh = (entries: Entry[]): string => `#compdef unstuck
_unstuck() {
  if (( CURRENT == 2 )); then
    local -a commands=(
${entries.map(({ name, description }) => `      '${name}:${quoted(description)}'`).join('\n')}
    )
    _describe command commands
    return
  fi
  if [[ "$PREFIX" != -* ]]; then
    _files
    return
  fi
  case "$words[2]" in
${entries.map(({ name, words }) => `    ${name}) compadd -- ${words.join(' ')} ;;`).join('\n')}
  esac
}
compdef _unstuck unstuck
`

const fishWord = (name: string, word: string): string => {
  const given = word.startsWith('--')
    ? `-l ${word.slice(2)}`
    : word.startsWith('-')
      ? `-s ${word.slice(1)}`
      : `-f -a ${word}`
  return `complete -c unstuck -n '__fish_seen_subcommand_from ${name}' ${given}`
}

const fish = (entries: Entry[]): string =>
  `${entries
    .flatMap(({ name, description, words }) => [
      `complete -c unstuck -n __fish_use_subcommand -f -a ${name} -d '${quoted(description)}'`,
      ...words.map((word) => fishWord(name, word)),
    ])
    .join('\n')}\n`

const scripts: Record<string, (entries: Entry[]) => string> = { bash, zsh, fish }

export const completionScript = (program: Command, shell: string): string => scripts[shell]?.(entriesOf(program)) ?? ''
