/**
 * The simple commands that a shell command consists of, for the globs that always ask a person, and for people who judge it. Every
 * command inside is listed, also in substitutions, groups and behind wrappers (`env`, `sudo`, `bash -c`). Nothing is ever approved by
 * a part: this can only add a reason to ask.
 */
import { parse } from 'unbash'
import { programOf } from '../command/plan.ts'

interface ReadCommand {
  /** The words as the shell passes them, as far as they are known. */
  words: string[]
  /** As written. */
  text: string
}

export interface CommandReading {
  /** Texts for a glob: each simple command as written and in plain words, and what a wrapper would start. */
  texts: string[]
  /** What only a shell knows at run time, or what cannot be read at all. Empty = the command is read completely. */
  unclear: string[]
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

interface Found {
  commands: ReadCommand[]
  unclear: string[]
}

const wordOf = (word: unknown): string => (word as { value?: string } | undefined)?.value ?? ''

const collect = (source: string): Found => {
  const script = parse(source)
  const found: Found = { commands: [], unclear: [] }
  if (script.errors !== undefined && script.errors.length > 0) found.unclear.push('text that is no shell command')
  const queue: unknown[] = [script]
  for (let at = 0; at < queue.length; at += 1) {
    const node = queue[at]
    if (typeof node !== 'object' || node === null) continue
    if (at > mostNodes) return { ...found, unclear: [...found.unclear, 'too many parts'] }
    if (Array.isArray(node)) {
      queue.push(...(node as unknown[]))
      continue
    }
    const { type, name, suffix, pos, end } = node as AnyNode
    const kind = dynamic[String(type)]
    if (kind !== undefined) found.unclear.push(kind)
    if (type === 'Command' && name !== undefined) {
      const rest = (suffix as readonly { type?: unknown }[]).filter((each) => each.type === 'Word')
      found.commands.push({
        words: [wordOf(name), ...rest.map(wordOf)],
        text: source.slice(Number(pos), Number(end)),
      })
    }
    queue.push(...childrenOf(node as AnyNode))
  }
  return found
}

/** Programs that start the command in their arguments. */
const wrappers = new Set(
  'env sudo doas xargs nohup nice ionice time timeout stdbuf setsid command exec builtin busybox watch find npx bunx entr parallel chroot unshare strace flock script su'.split(
    ' ',
  ),
)
const shells = new Set('sh bash dash zsh ksh fish ash eval su script watch ssh source .'.split(' '))

/** What a wrapper could start: the rest of its words from each one on. */
const behindWrapper = (words: readonly string[]): string[][] =>
  wrappers.has(programOf(words) ?? '') ? words.slice(1).map((_, index) => words.slice(index + 1)) : []

const readInto = (source: string, depth: number, reading: CommandReading): void => {
  const { commands, unclear } = collect(source)
  reading.unclear.push(...unclear)
  for (const { words, text } of commands) {
    const bare = [programOf(words) ?? '', ...words.slice(1)]
    reading.texts.push(text, words.join(' '), bare.join(' '))
    for (const rest of behindWrapper(words))
      reading.texts.push(rest.join(' '), [programOf(rest) ?? '', ...rest.slice(1)].join(' '))
    if (![words, ...behindWrapper(words)].some((each) => shells.has(programOf(each) ?? ''))) continue
    if (depth >= deepestText) reading.unclear.push('a shell in a shell in a shell')
    else
      words.filter((word, index) => index > 0 && /\s/.test(word)).forEach((word) => readInto(word, depth + 1, reading))
  }
}

/** Characters that look like other ones, or like nothing. */
const beyondAscii = /[^\x20-\x7e]/

/** Reads every part of a command. Never throws. */
export const readShellCommand = (command: string): CommandReading => {
  const reading: CommandReading = { texts: [], unclear: [] }
  if (beyondAscii.test(command)) reading.unclear.push('characters outside ASCII, which may look like other ones')
  try {
    readInto(command, 0, reading)
  } catch {
    // The parser gives up on text that is too deep. Then nothing is known about it, which asks a person.
    reading.unclear.push('text that cannot be read')
  }
  return { texts: [...new Set(reading.texts)], unclear: [...new Set(reading.unclear)] }
}
