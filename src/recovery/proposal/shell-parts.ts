/**
 * The simple commands of a shell command, and what only a shell knows when it runs. Every command inside is listed, also in substitutions,
 * groups and the text that a shell is given. Pure.
 */
import { parse } from 'unbash'
import { programOf } from '../command/command-plan.ts'
import { decidesWhatRuns, hiddenCodeOf, shellTextsOf } from './hidden-code.ts'

export interface SimpleCommand {
  /** The words as the shell passes them, as far as they are known. */
  words: string[]
  /** As written. */
  text: string
  redirects: { operator: string; target: string }[]
  /** Variables that it sets, also by `export`. */
  assigns: { name: string; value: string }[]
  /** Where it begins in its text. */
  at: number
}

interface UnclearPart {
  what: string
  /** Nothing is known about it; else only what the shell puts in its place. */
  unread: boolean
  /** As written. */
  text: string
}

export interface ShellParts {
  commands: SimpleCommand[]
  /** Empty = the command is read completely. */
  unclear: UnclearPart[]
  /** Pipelines that end in a shell: what runs is not in the command. */
  piped: string[]
  /** Commands that run code which they do not show. */
  hidden: { what: string; text: string }[]
}

type AnyNode = Record<string, unknown> & { type?: unknown }

const dynamic: Readonly<Record<string, string>> = {
  CommandExpansion: 'a command substitution',
  ProcessSubstitution: 'a process substitution',
  SimpleExpansion: 'a variable',
  ParameterExpansion: 'a variable',
  ArithmeticExpansion: 'arithmetic',
  BraceExpansion: 'braces that the shell expands',
  Function: 'a function of its own',
  HereDoc: 'a here-document',
  HereString: 'a here-string',
  Coproc: 'a coprocess',
}

/** Deeper or larger commands are not read; they stay unclear. */
const mostNodes = 20_000
const deepestText = 4

/** The parser computes these on demand, behind getters of its classes. */
const lazy = ['parts', 'script', 'expression', 'args', 'redirects', 'body', 'value']

const childrenOf = (node: AnyNode): unknown[] => [
  ...Object.values(node),
  ...lazy.filter((key) => key in node && !Object.hasOwn(node, key)).map((key) => node[key]),
]

/** Programs that start the command in their arguments. */
const wrappers = new Set(
  'env sudo doas pkexec runuser xargs nohup nice ionice chrt taskset time timeout stdbuf setsid command exec builtin busybox watch find npx bunx entr parallel chroot unshare nsenter strace ltrace valgrind flock script su ssh systemd-run bwrap firejail'.split(
    ' ',
  ),
)
/** Programs of which a subcommand starts the command in its arguments. */
const runners = new Set(
  'npm pnpm yarn bun docker podman kubectl uv poetry pipenv pdm bundle rye hatch mise asdf direnv conda nix'.split(' '),
)
const running = /^(?:exec|run|x|dlx|shell|develop)$/
/** Wrappers that put further arguments after those that are written. */
const appends = new Set(['xargs', 'parallel'])
const shells = new Set('sh bash dash zsh ksh fish ash eval su script watch ssh source .'.split(' '))

/** What a wrapper could start: the rest of its words from each one on. */
export const behindWrapper = (words: readonly string[]): string[][] => {
  const program = programOf(words) ?? ''
  // What stands before it are folders and tests of names.
  const started = words.findIndex((word) => /^-(?:exec|ok)(?:dir)?$/.test(word))
  if (program === 'find') return started < 0 ? [] : [words.slice(started + 1)]
  const runs = runners.has(program) && words.some((word) => running.test(word))
  if (!runs && !wrappers.has(program)) return []
  const given = appends.has(program) ? [...words, '{}'] : words
  return words.slice(1).map((_, index) => given.slice(index + 1))
}

/** The command with options left out that stand before its subcommand (`git -C . push`): what they take may be a word or not. */
export const withoutLeadingOptions = (words: readonly string[]): string[][] => {
  const [program = '', ...rest] = words
  const found: string[][] = []
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] ?? ''
    const isValue = at > 0 && (rest[at - 1] ?? '').startsWith('-') && !word.startsWith('-')
    if ((!word.startsWith('-') && !isValue) || at === rest.length - 1) break
    found.push([program, ...rest.slice(at + 1)])
  }
  return found
}

const isShell = (words: readonly string[]): boolean =>
  [words, ...behindWrapper(words)].some((each) => shells.has(programOf(each) ?? ''))

const wordOf = (word: unknown): string => (word as { value?: string } | undefined)?.value ?? ''

const commandOf = (node: AnyNode, text: string): Omit<SimpleCommand, 'at'> => {
  const { name, prefix, suffix, redirects } = node as { name?: unknown } & Record<
    'prefix' | 'suffix' | 'redirects',
    AnyNode[]
  >
  const assigns = [...prefix, ...suffix].filter(({ type }) => type === 'Assignment')
  const rest = suffix.map((each) => (each.type === 'Word' ? wordOf(each) : ((each as { text?: string }).text ?? '')))
  return {
    words: name === undefined ? [] : [wordOf(name), ...rest],
    text,
    redirects: redirects.map(({ operator, target }) => ({ operator: String(operator), target: wordOf(target) })),
    assigns: assigns.map((each) => ({ name: String(each['name']), value: wordOf(each['value']) })),
  }
}

const expands = (name: unknown): boolean => {
  const parts = (name as { parts?: AnyNode[] } | undefined)?.parts ?? []
  return parts.some(({ type }) => !/^(?:Literal|SingleQuoted|DoubleQuoted|AnsiC\w*)$/.test(String(type)))
}

const hiddenIn = (words: readonly string[]): string[] =>
  [words, ...behindWrapper(words)].flatMap((each) => hiddenCodeOf([programOf(each) ?? '', ...each.slice(1)]) ?? [])

const readCommand = (node: AnyNode, text: string, parts: ShellParts): void => {
  const command = commandOf(node, text)
  parts.commands.push({ ...command, at: Number(node['pos']) })
  if (expands(node['name']))
    parts.unclear.push({ what: 'a name of a program that the shell expands', unread: false, text })
  for (const { name } of command.assigns.filter((each) => decidesWhatRuns(each.name)))
    parts.unclear.push({ what: `${name}, which decides what runs`, unread: false, text })
  parts.hidden.push(...hiddenIn(command.words).map((what) => ({ what, text })))
}

const readNode = (node: AnyNode, source: string, parts: ShellParts): void => {
  const { type, pos, end } = node
  const text = source.slice(Number(pos), Number(end))
  const what = dynamic[String(type)]
  if (what !== undefined) parts.unclear.push({ what, unread: false, text })
  if (type === 'Command') readCommand(node, text, parts)
  if (type !== 'Pipeline') return
  const [, ...receiving] = node['commands'] as AnyNode[]
  const words = receiving.filter((each) => each.type === 'Command').map((each) => commandOf(each, '').words)
  if (words.some((each) => isShell(each) && hiddenIn(each).length === 0)) parts.piped.push(text)
}

const readText = (source: string, depth: number, parts: ShellParts): void => {
  const script = parse(source)
  if ((script.errors?.length ?? 0) > 0)
    parts.unclear.push({ what: 'text that is no shell command', unread: true, text: source })
  const begun = parts.commands.length
  const queue: unknown[] = [script]
  for (let at = 0; at < queue.length; at += 1) {
    const node = queue[at]
    if (typeof node !== 'object' || node === null) continue
    if (at > mostNodes) {
      parts.unclear.push({ what: 'too many parts', unread: true, text: source })
      break
    }
    if (Array.isArray(node)) queue.push(...(node as unknown[]))
    else {
      readNode(node as AnyNode, source, parts)
      queue.push(...childrenOf(node as AnyNode))
    }
  }
  const found = parts.commands.splice(begun).toSorted((one, other) => one.at - other.at)
  parts.commands.push(...found)
  // A shell that is given text runs that text.
  for (const { words } of found) {
    const readings = [words, ...behindWrapper(words)].map((each) => [programOf(each) ?? '', ...each.slice(1)])
    const given = isShell(words) ? words.slice(1).filter((each) => /\s/.test(each)) : []
    const texts = new Set([...given, ...readings.flatMap(shellTextsOf)])
    if (texts.size > 0 && depth >= deepestText)
      parts.unclear.push({ what: 'a shell in a shell in a shell', unread: true, text: source })
    else for (const text of texts) readText(text, depth + 1, parts)
  }
}

/** Characters that look like other ones, or like nothing. */
const beyondAscii = /[^\x20-\x7e]/

/** Reads every part of a command. Never throws. */
export const shellParts = (command: string): ShellParts => {
  const parts: ShellParts = { commands: [], unclear: [], piped: [], hidden: [] }
  if (beyondAscii.test(command))
    parts.unclear.push({
      what: 'characters outside ASCII, which may look like other ones',
      unread: true,
      text: command,
    })
  try {
    readText(command, 0, parts)
  } catch {
    // The parser gives up on text that is too deep. Then nothing is known about it, which asks a person.
    parts.unclear.push({ what: 'text that cannot be read', unread: true, text: command })
  }
  return parts
}
