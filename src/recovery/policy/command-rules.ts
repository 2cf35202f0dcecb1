/**
 * Which files the commands of a task need, by the command rules. Only the program of a simple command counts, never a word
 * elsewhere: `echo go home` needs no go.mod. A command that cannot be read needs nothing. Pure.
 */
import { planCommand, programOf, type CommandStep } from '../command/command-plan.ts'
import { commandNamesOf, isNamed } from './command-names.ts'
import { unsafeBecause } from './path-safety.ts'
import type { CommandPathRule, PolicyRecovery } from './recovery-policy.ts'
import { secretRuleFor } from './secrets.ts'

export interface CommandRulePath {
  /** A file, or a folder with everything below it if it ends with `/`. Relative to the top of the repository. */
  path: string
  /** The command of the task, as written. */
  command: string
  /** The pattern of the rule. */
  pattern: string
}

/** How a tool is told where to work. */
interface Placement {
  /** Options whose value is the folder. */
  folder?: readonly string[]
  /** Options whose value replaces the files in `instead`. */
  file?: readonly string[]
  instead?: readonly string[]
  /** Options whose value is a file; its folder is the folder. */
  fileIn?: readonly string[]
  /** `-Csub` means `-C sub`. */
  joined?: true
  /** With one of these options the tool reads none of its files. */
  none?: readonly string[]
  /** The first word that is no option is the folder, unless an option names it. These options have a value. */
  wordIsFolder?: { unless: readonly string[]; valued: readonly string[] }
}

const make: Placement = {
  folder: ['-C', '--directory'],
  file: ['-f', '--file', '--makefile'],
  instead: ['Makefile', 'makefile', 'GNUmakefile'],
  joined: true,
}
const gradle: Placement = {
  folder: ['-p', '--project-dir'],
  file: ['-b', '--build-file'],
  instead: ['build.gradle', 'build.gradle.kts'],
}
const maven: Placement = { file: ['-f', '--file'], instead: ['pom.xml'] }

const placements: Readonly<Record<string, Placement>> = {
  make,
  gmake: make,
  cmake: {
    folder: ['-S'],
    joined: true,
    none: ['-E', '-P', '--version', '--help'],
    wordIsFolder: {
      unless: ['-S', '--build', '--install', '--open', '--preset', '--workflow'],
      valued: ['-B', '-C', '-D', '-U', '-G', '-T', '-A', '--toolchain', '--install-prefix'],
    },
  },
  ninja: { folder: ['-C'], file: ['-f'], instead: ['build.ninja'], joined: true },
  cargo: { folder: ['-C'], fileIn: ['--manifest-path'] },
  go: { folder: ['-C'], file: ['-modfile', '--modfile'], instead: ['go.mod', 'go.sum'] },
  gradle,
  gradlew: gradle,
  mvn: maven,
  mvnw: maven,
}

/** Programs that start another one, and the number of words before its name. With an option of theirs nothing is known. */
const wrappers: Readonly<Record<string, number>> = { env: 0, nohup: 0, nice: 0, time: 0, timeout: 1 }

/** The argv of the program that does the work: `env CC=clang make` and `timeout 60 make` run make. */
const workArgv = (argv: readonly string[], depth = 0): readonly string[] => {
  const program = programOf(argv) ?? ''
  if (!Object.hasOwn(wrappers, program) || depth > 4) return argv
  const rest = argv.slice(1)
  const start = program === 'env' ? rest.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word)) : (wrappers[program] ?? 0)
  const inner = start === -1 ? [] : rest.slice(start)
  return inner[0] === undefined || inner[0].startsWith('-') || rest[0]?.startsWith('-') === true
    ? []
    : workArgv(inner, depth + 1)
}

/** `folder` and `more` as one path from the top; undefined = it leaves the repository. */
const resolved = (folder: string, more: string): string | undefined => {
  if (more.startsWith('/')) return undefined
  const found: string[] = []
  for (const segment of `${folder}/${more}`.split('/')) {
    if (segment === '..' && found.pop() === undefined) return undefined
    if (segment !== '' && segment !== '.' && segment !== '..') found.push(segment)
  }
  return found.join('/')
}

const resolvedAll = (parts: readonly string[]): string | undefined =>
  parts.reduce<string | undefined>((at, part) => (at === undefined ? undefined : resolved(at, part)), '')

/** The word without its joined value, and that value: `--file=x`, `-fx`. */
const splitOption = (word: string, joined: boolean): [string, string | undefined] => {
  const equals = word.startsWith('-') ? word.indexOf('=') : -1
  if (equals > 0 && word.startsWith('--')) return [word.slice(0, equals), word.slice(equals + 1)]
  if (joined && /^-[A-Za-z]./.test(word)) return [word.slice(0, 2), word.slice(2)]
  return equals > 0 ? [word.slice(0, equals), word.slice(equals + 1)] : [word, undefined]
}

interface Options {
  /** Option and value, in order. A value is the joined one, else the next word. */
  pairs: { option: string; value: string; joined: boolean }[]
  words: string[]
}

const optionsOf = (argv: readonly string[], placement: Placement): Options => {
  const valued = [
    ...(placement.folder ?? []),
    ...(placement.file ?? []),
    ...(placement.fileIn ?? []),
    ...(placement.wordIsFolder?.valued ?? []),
  ]
  const found: Options = { pairs: [], words: [] }
  for (let index = 1; index < argv.length && argv[index] !== '--'; index += 1) {
    const [option, value] = splitOption(argv[index] ?? '', placement.joined === true)
    if (!option.startsWith('-')) found.words.push(option)
    else if (value === undefined && valued.includes(option)) {
      index += 1
      found.pairs.push({ option, value: argv[index] ?? '', joined: false })
    } else found.pairs.push({ option, value: value ?? '', joined: value !== undefined })
  }
  return found
}

interface Place {
  folder: string
  /** Files that the command names, and the names that they replace. */
  files: string[]
  instead: readonly string[]
}

const folderOf = (path: string): string => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.')

/** A short option inside a cluster, `make -kC sub`: the cluster is not taken apart, so the place is unknown. */
const hasCluster = ({ pairs }: Options, { folder = [], file = [] }: Placement): boolean =>
  pairs.some(
    ({ option, value, joined }) =>
      joined && /^-[a-zA-Z]$/.test(option) && [...folder, ...file].some((each) => value === each.slice(1)),
  )

/** Where the command works; undefined = outside of the repository, unknown, or without files. */
const placeOf = ({ cwd }: CommandStep, argv: readonly string[]): Place | undefined => {
  const program = programOf(argv) ?? ''
  const placement = Object.hasOwn(placements, program) ? placements[program] : undefined
  const start = resolvedAll(cwd)
  if (start === undefined) return undefined
  if (placement === undefined) return { folder: start, files: [], instead: [] }
  const options = optionsOf(argv, placement)
  const valuesOf = (names: readonly string[] = []): string[] =>
    options.pairs.filter(({ option }) => names.includes(option)).map(({ value }) => value)
  if (options.pairs.some(({ option }) => placement.none?.includes(option) === true)) return undefined
  if (hasCluster(options, placement)) return undefined
  const words = placement.wordIsFolder
  const byWord =
    words !== undefined && !options.pairs.some(({ option }) => words.unless.includes(option))
      ? options.words[0]
      : undefined
  const folder = resolvedAll([
    start,
    ...valuesOf(placement.folder),
    ...valuesOf(placement.fileIn).map(folderOf),
    ...(byWord === undefined ? [] : [byWord]),
  ])
  if (folder === undefined) return undefined
  const named = valuesOf(placement.file)
  const files = named.map((file) => resolved(folder, file)).filter((file) => file !== undefined)
  return files.length < named.length
    ? undefined
    : { folder, files, instead: named.length > 0 ? (placement.instead ?? []) : [] }
}

/** `mvn -f sub` names the folder of the pom.xml, and `go -modfile=x.mod` also reads x.sum. */
const filesFor = (name: string, files: readonly string[]): string[] =>
  files.map((file) => {
    if (name === 'pom.xml' && !file.endsWith('.xml')) return `${file}/${name}`
    return name === 'go.sum' ? file.replace(/\.mod$/, '.sum') : file
  })

const pathsIn = (rule: CommandPathRule, place: Place): string[] =>
  rule.paths.flatMap((path) => {
    if (path.includes('/')) return [path]
    if (place.instead.includes(path)) return filesFor(path, place.files)
    const found = resolved(place.folder, path)
    return found === undefined ? [] : [found]
  })

const isSafe = (path: string): boolean => {
  const file = path.replace(/\/$/, '')
  return unsafeBecause(file) === undefined && secretRuleFor(file) === undefined
}

type NamedRule = CommandPathRule & { names: readonly string[] }

const stepPaths = (step: CommandStep, rules: readonly NamedRule[]): Omit<CommandRulePath, 'command'>[] => {
  const argv = workArgv(step.argv)
  const matching = rules.filter(({ names }) => isNamed(argv[0] ?? '', names))
  const place = matching.length === 0 ? undefined : placeOf(step, argv)
  if (place === undefined) return []
  return matching.flatMap((rule) => pathsIn(rule, place).map((path) => ({ path, pattern: rule.pattern })))
}

/** The files that these commands need, in their order, each once. Denied paths are the caller's. */
export const commandRulePaths = (
  commands: readonly string[],
  policy: Pick<PolicyRecovery, 'commandDrivenAllowedPathRules'>,
): CommandRulePath[] => {
  const rules = policy.commandDrivenAllowedPathRules.map((each) => ({
    ...each,
    names: commandNamesOf(each.pattern) ?? [],
  }))
  const found = new Map<string, CommandRulePath>()
  for (const command of commands) {
    const plan = planCommand(command)
    const paths = (plan.ok ? plan.steps : []).flatMap((step) => stepPaths(step, rules))
    for (const { path, pattern } of paths) {
      if (isSafe(path) && !found.has(path)) found.set(path, { path, command, pattern })
    }
  }
  return [...found.values()]
}

/** Whether one of the paths of a rule is this path or a folder above it. */
export const coversPath = (rulePath: string, path: string): boolean =>
  rulePath.endsWith('/') ? path.startsWith(rulePath) && path !== rulePath : rulePath === path
