/** docs/commands.md: the commands as the parser declares them, by purpose. */
import type { Argument, Command, Option } from 'commander'
import { code, generatedPage, item, paragraphs, plain, wrap } from './markdown.ts'

/** What the declarations of the single commands do not say. A heading without its text is an error of the types. */
const introductions: Record<string, string> = {
  'Start:':
    '`unstuck` alone shows which agent CLIs are installed and logged in, where work will land, and two commands to try. `run` and `issue` start the engine of the repository if none runs. `unstuck service` takes the place of `unstuck up` where the engine has to outlive a restart of the machine ([server](guides/server.md)).',
  'Look:':
    'These commands start no engine and change nothing. `status`, `inbox` and `report` take `--all` for all of your repositories. `status` shows first what needs you.',
  'Decide:':
    'Questions that wait for you, finished work that waits for a look ([judge](judge.md)), and what lands on your branch. `approve-recovery`, `reject-recovery` and `resolve-recovery` answer the question about a command that an agent proposed against a broken environment.',
  'Change:':
    'What is changed during an attempt counts from the next attempt on. `pause --judge` reviews nothing until `resume --judge`.',
  'Look after:':
    'Files of the owner, stored data, and tools. `config confirm` is for a change that allows more and that appeared while an agent ran.',
}

const sentence = (text: string): string => {
  const capital = `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
  return /[.!?]$/.test(capital) ? capital : `${capital}.`
}

const defaultOf = ({ defaultValue }: Option): string =>
  defaultValue === undefined || defaultValue === false || Array.isArray(defaultValue)
    ? ''
    : ` Default: ${code(String(defaultValue))}.`

const choicesOf = (choices: readonly string[] | undefined): string =>
  choices === undefined ? '' : ` One of ${choices.map(code).join(', ')}.`

const argumentItem = (argument: Argument): string => {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`
  const shown = argument.required ? `<${name}>` : `[${name}]`
  return item(`${code(shown)}: ${plain(sentence(argument.description))}${choicesOf(argument.argChoices)}`)
}

const optionItem = (option: Option): string =>
  item(
    `${code(option.flags)}: ${plain(sentence(option.description))}${choicesOf(option.argChoices)}${defaultOf(option)}`,
  )

/** What follows the options in the help of a command: examples and notes. */
const afterHelp = (command: Command): string => {
  const written: string[] = []
  command.configureOutput({ writeOut: (part) => void written.push(part) }).outputHelp()
  const after = written.slice(written.indexOf(command.helpInformation()) + 1)
  return after.join('').trim()
}

const notesOf = (command: Command): string => {
  const text = afterHelp(command)
  return text === '' ? '' : `\`\`\`text\n${text}\n\`\`\``
}

const nameOf = (command: Command): string =>
  command.parent === null || command.parent.parent === null
    ? command.name()
    : `${nameOf(command.parent)} ${command.name()}`

const visible = (command: Command): Command[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((one) => one.name() !== 'help')

const section = (command: Command, level: number): string => {
  const children = visible(command)
  const options = command.options.filter(({ hidden }) => !hidden)
  const usage = `unstuck ${nameOf(command)} ${children.length > 0 ? '<command>' : command.usage()}`
  const details = [...command.registeredArguments.map(argumentItem), ...options.map(optionItem)].join('\n')
  return [
    `${'#'.repeat(level)} ${nameOf(command)}`,
    code(usage.replace(' [options]', options.length > 0 ? ' [options]' : '').trim()),
    wrap(plain(sentence(command.description()))),
    details,
    notesOf(command),
    ...children.map((child) => section(child, level + 1)),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

export const commandsPage = (program: Command): string => {
  const groups = Map.groupBy(visible(program), (command) => command.helpGroup())
  const sections = [...groups].map(([heading, commands]) => {
    const introduction = introductions[heading]
    if (introduction === undefined) throw new Error(`no text for the group ${JSON.stringify(heading)} of commands`)
    return [`## ${heading.slice(0, -1)}`, wrap(introduction), ...commands.map((command) => section(command, 3))].join(
      '\n\n',
    )
  })
  const contents = [...groups].map(([heading, commands]) =>
    item(`${heading} ${commands.map((command) => `[${command.name()}](#${command.name()})`).join(', ')}`),
  )
  return generatedPage(
    'Commands',
    [
      paragraphs(
        'Every command of `unstuck`, from `src/cli/commands/`. `unstuck <command> --help` prints the same.',
        'Every command takes `--help` and `--repo <url>`: the git URL of a repository to use instead of this folder. Commands that show something take `--json` and start no engine. Colours follow `NO_COLOR`, `FORCE_COLOR` and `TERM=dumb`.',
        `${afterHelp(program)} What each one means: [errors](errors.md).`,
      ),
      contents.join('\n'),
      ...sections,
    ].join('\n\n'),
  )
}
