/**
 * Turns one verification command line into argv steps, so that it can be run by direct spawn and never by a shell.
 * Understood: simple commands with quotes, `NAME=value` prefixes, `&&` chains and `cd <dir> && …`. Anything else is refused
 * with the part that is not understood. A refused line yields no steps at all, not even those that could be read. Only text is
 * read: the caller has to check whether a program or a folder exists and where a `cd` really leads.
 */
import { parse } from 'unbash'
import type { Assignment, Command, CommandArgument, Redirection, Statement, SyntaxNode, Word, WordPart } from 'unbash'

/**
 * Shell builtins without a program of the same name (or with a different one). Started directly they would fail, or pass
 * without affecting the commands after them, so a plan refuses them by name. `cd` is missing because the plan interprets it;
 * `echo`, `printf`, `test`, `[`, `true`, `false`, `pwd` and `kill` exist as programs.
 */
const refusedBuiltins: ReadonlySet<string> = new Set(
  `
    . source eval exec command builtin enable type hash : export unset set shopt declare typeset local
    readonly let getopts shift read mapfile readarray alias unalias trap ulimit umask times caller help return
    exit logout break continue wait jobs fg bg disown suspend pushd popd dirs history fc bind complete compgen
    compopt
  `
    .trim()
    .split(/\s+/),
)

/** One program to start. `cwd`: the arguments of the `cd` commands before it, in order. */
export interface CommandStep {
  argv: string[]
  env: Record<string, string>
  cwd: string[]
}

export interface UnsupportedCommand {
  ok: false
  code: 'verification_command_unsupported_format'
  /** The part of the text that is not understood, verbatim. */
  piece: string
  reason: string
}

export type CommandPlan = { ok: true; steps: CommandStep[] } | UnsupportedCommand

/** Longer lines are scripts, not checks. The limit also prevents a hostile line from costing time in the parser. */
const maxLength = 16_384

interface Refusal {
  piece: string
  reason: string
}

type Read<T> = { value: T } | Refusal

const isRefusal = (read: object): read is Refusal => 'reason' in read

const unsupported = ({ piece, reason }: Refusal): UnsupportedCommand => ({
  ok: false,
  code: 'verification_command_unsupported_format',
  piece: piece.length > 200 ? `${piece.slice(0, 200)}…` : piece,
  reason,
})

const reasons: Partial<Record<SyntaxNode['type'], string>> = {
  Pipeline: 'pipes, "!" and "time" need a shell',
  Subshell: 'a subshell needs a shell',
  BraceGroup: 'a command group needs a shell',
  Function: 'a function definition needs a shell',
  Coproc: 'a coprocess needs a shell',
  TestCommand: '"[[ … ]]" needs a shell; use "test"',
  ArithmeticCommand: 'arithmetic needs a shell',
  Redirected: 'a redirect needs a shell',
  Redirect: 'a redirect needs a shell',
  HereDoc: 'a here-document needs a shell',
  HereString: 'a here-string needs a shell',
  Glob: 'no shell expands the glob; quote it or name the files',
  ExtendedGlob: 'no shell expands the glob; quote it or name the files',
  BraceExpansion: 'no shell expands the braces; quote them or write the words out',
  SimpleExpansion: "no shell expands the variable; quote it with '…' or write its value",
  ParameterExpansion: "no shell expands the variable; quote it with '…' or write its value",
  CommandExpansion: 'command substitution needs a shell',
  ProcessSubstitution: 'process substitution needs a shell',
  ArithmeticExpansion: 'arithmetic needs a shell',
  LocaleString: 'a translated string needs a shell',
}

const reasonOf = (type: SyntaxNode['type']): string => reasons[type] ?? 'control flow needs a shell'

/** Where a word is. In the value of an assignment a shell expands neither globs nor braces. */
type Place = 'argument' | 'value'

const refusedPart = (part: WordPart, place: Place): Refusal | undefined => {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
      return undefined
    case 'AnsiCQuoted':
      // \x, \u, \c and octal escapes denote bytes, but a spawned argument is text, so the two could differ.
      return /\\[xuUc0-7]/.test(part.text) ? { piece: part.text, reason: 'numeric escapes are not read' } : undefined
    case 'DoubleQuoted':
      return part.parts.map((inner) => refusedPart(inner, place)).find((found) => found !== undefined)
    case 'Glob':
    case 'BraceExpansion':
      return place === 'value' ? undefined : { piece: part.text, reason: reasonOf(part.type) }
    case 'ArithmeticExpansion':
    case 'CommandExpansion':
    case 'ExtendedGlob':
    case 'LocaleString':
    case 'ParameterExpansion':
    case 'ProcessSubstitution':
    case 'SimpleExpansion':
      return { piece: part.text, reason: reasonOf(part.type) }
  }
}

/** A tilde expands at the start of a word, and after `=` or `:` where the word looks like an assignment. */
const hasTilde = (text: string, place: Place): boolean =>
  text.startsWith('~') ||
  (place === 'value' && text.includes(':~')) ||
  (place === 'argument' && /^[A-Za-z_]\w*\+?=(~|.*:~)/s.test(text))

/** Text that a shell would join or expand differently from the parser, unless a backslash quotes it. */
const isMisread = (text: string): boolean => {
  const plain = text.replaceAll(/\\[^\n]/g, '')
  return plain.includes('\\\n') || plain.includes('$[')
}

const literalsOf = (word: Word): string[] => {
  if (word.parts === undefined) return [word.text]
  const parts = word.parts.flatMap((part): readonly WordPart[] => (part.type === 'DoubleQuoted' ? part.parts : [part]))
  return parts.filter((part) => part.type === 'Literal').map((part) => part.text)
}

const readWord = (word: Word, place: Place): Read<string> => {
  for (const part of word.parts ?? []) {
    const refused = refusedPart(part, place)
    if (refused !== undefined) return refused
  }
  // A line break between words may belong to the word after it.
  const text = word.text.replace(/^(\\\n)+/, '')
  if (literalsOf(word).some((literal) => isMisread(literal.replace(/^(\\\n)+/, ''))))
    return { piece: text, reason: 'not understood' }
  if (hasTilde(text, place)) return { piece: word.text, reason: 'no shell expands the tilde; write the path' }
  // A carriage return outside quotes comes from a Windows line ending and would invisibly become part of an argument.
  const bare = word.parts?.filter((part) => part.type === 'Literal') ?? [word]
  if (bare.some((piece) => piece.value.includes('\r')))
    return { piece: word.text, reason: 'it contains a carriage return' }
  return { value: word.value }
}

const readAssignment = (entry: Assignment): Read<[string, string]> => {
  if (entry.append || entry.index !== undefined || entry.value.type === 'ArrayValue') {
    return { piece: entry.text, reason: 'only NAME=value is understood before a command' }
  }
  const read = readWord(entry.value, 'value')
  return isRefusal(read) ? read : { value: [entry.name, read.value] }
}

interface Simple {
  argv: string[]
  env: Record<string, string>
}

const readArguments = (entries: readonly (CommandArgument | Redirection)[], source: string): Read<string[]> => {
  const argv: string[] = []
  for (const entry of entries) {
    if (entry.type !== 'Word') return { piece: source.slice(entry.pos, entry.end), reason: reasonOf(entry.type) }
    const read = readWord(entry, 'argument')
    if (isRefusal(read)) return read
    argv.push(read.value)
  }
  return { value: argv }
}

const readPrefix = (entries: Command['prefix'], source: string): Read<[string, string][]> => {
  const pairs: [string, string][] = []
  for (const entry of entries) {
    if (entry.type !== 'Assignment') return { piece: source.slice(entry.pos, entry.end), reason: reasonOf(entry.type) }
    const read = readAssignment(entry)
    if (isRefusal(read)) return read
    pairs.push(read.value)
  }
  return { value: pairs }
}

const readCommand = (command: Command, source: string): Read<Simple> => {
  const piece = source.slice(command.pos, command.end)
  const pairs = readPrefix(command.prefix, source)
  if (isRefusal(pairs)) return pairs
  if (command.name === undefined) return { piece, reason: 'it sets a variable and starts no program' }
  const program = readWord(command.name, 'argument')
  if (isRefusal(program)) return program
  if (program.value === '') return { piece, reason: 'the program has no name' }
  if (refusedBuiltins.has(program.value)) return { piece, reason: `"${program.value}" exists only inside a shell` }
  const rest = readArguments(command.suffix, source)
  return isRefusal(rest)
    ? rest
    : { value: { argv: [program.value, ...rest.value], env: Object.fromEntries(pairs.value) } }
}

const readMove = ({ argv, env }: Simple, piece: string): Read<string> => {
  const operand = argv[1]
  if (argv.length !== 2 || operand === undefined || operand === '' || operand.startsWith('-')) {
    return { piece, reason: '"cd" is understood with exactly one folder and no option' }
  }
  return Object.keys(env).length > 0 ? { piece, reason: '"cd" takes no environment prefix here' } : { value: operand }
}

const readChain = (nodes: readonly SyntaxNode[], source: string): CommandPlan => {
  const steps: CommandStep[] = []
  const cwd: string[] = []
  for (const [index, node] of nodes.entries()) {
    const piece = source.slice(node.pos, node.end)
    if (node.type !== 'Command') return unsupported({ piece, reason: reasonOf(node.type) })
    const read = readCommand(node, source)
    if (isRefusal(read)) return unsupported(read)
    if (read.value.argv[0] !== 'cd') {
      steps.push({ ...read.value, cwd: [...cwd] })
      continue
    }
    const move = readMove(read.value, piece)
    if (isRefusal(move)) return unsupported(move)
    // A `cd` at the end checks nothing and affects nothing, so accepting it would be a pass without a check.
    if (index === nodes.length - 1) return unsupported({ piece, reason: 'nothing follows the "cd"' })
    cwd.push(move.value)
  }
  return { ok: true, steps }
}

const readStatement = (statement: Statement, source: string): CommandPlan => {
  if (statement.background) return unsupported({ piece: '&', reason: 'a background command needs a shell' })
  const { command } = statement
  if (command.type !== 'AndOr') return readChain([command], source)
  if (command.operators.includes('||')) return unsupported({ piece: '||', reason: 'only "&&" joins commands' })
  return readChain(command.commands, source)
}

const bareGap = (gap: string): string =>
  gap
    .replaceAll('\\\n', '')
    .replaceAll(/(^|\s)#[^\n]*/g, '$1')
    .trim()

/**
 * The parser is lenient: it can drop a stray bracket without an error. So the text around and between the parsed words must
 * consist of white space, comments and `&&` only; otherwise something was lost.
 */
const lostPiece = (nodes: readonly SyntaxNode[], source: string): Refusal | undefined => {
  const words = nodes.flatMap((node) =>
    node.type === 'Command' ? [...node.prefix, ...(node.name ? [node.name] : []), ...node.suffix] : [],
  )
  let end = 0
  for (const word of [...words, { pos: source.length, end: source.length }]) {
    const bare = bareGap(source.slice(end, word.pos))
    if (bare !== '' && bare !== '&&')
      return { piece: bare, reason: bare.startsWith(';') ? 'only "&&" joins commands' : 'not understood' }
    end = word.end
  }
  return undefined
}

const parsePlan = (text: string): CommandPlan => {
  const script = parse(text)
  const error = script.errors?.[0]
  if (error !== undefined)
    return unsupported({ piece: text.slice(error.pos) || text, reason: `not a shell command: ${error.message}` })
  const [statement, second] = script.commands
  if (statement === undefined) return unsupported({ piece: text, reason: 'it names no command' })
  const plan = readStatement(statement, text)
  if (!plan.ok) return plan
  if (second !== undefined) {
    const separator = bareGap(text.slice(statement.end, second.pos))
    if (separator !== '') return unsupported({ piece: separator, reason: 'only "&&" joins commands' })
    return unsupported({
      piece: text.slice(second.pos, second.end),
      reason: 'a line break joins two commands; list them one by one',
    })
  }
  const { command } = statement
  const lost = lostPiece(command.type === 'AndOr' ? command.commands : [command], text)
  return lost === undefined ? plan : unsupported(lost)
}

/** Returns a plan that runs exactly what a shell would run, or the part that prevents it. Never throws and never guesses. */
export const planCommand = (text: string): CommandPlan => {
  if (text.includes('\0'))
    return unsupported({ piece: text.slice(0, text.indexOf('\0')), reason: 'it contains a NUL byte' })
  if (text.length > maxLength) return unsupported({ piece: text, reason: `it is longer than ${maxLength} characters` })
  return parsePlan(text)
}

/** Name of the program without its folder; undefined for an empty argv. */
export const programOf = (argv: readonly string[]): string | undefined => argv[0]?.split('/').pop() || undefined
