/**
 * The command line of somebody else's agent, as data: which CLI it is, whether it runs headless, how its events are asked
 * for, and how corrections go in. What the user wrote stays; only what is named here is added. Facts about the CLIs are
 * those of their drivers.
 */
import { basename } from 'node:path'
import type { LaunchCorrections } from '../domain/run.ts'
import { AppError } from '../errors.ts'
import type { Driver } from '../harness/driver.ts'
import { driverNamed } from '../harness/drivers.ts'
import { givenDirectories, notGiven, restrictionOf, type Restriction } from './restriction.ts'

/** What a launch changes; the first one nothing. */
export interface Change {
  corrections: LaunchCorrections
  /**
   * A hint that takes the place of the task where this session continues, and stands behind it in a session of its own.
   * `fresh`: no earlier session is resumed, not even one that the user named.
   */
  told?: { hint: string; session?: string; fresh?: true }
}

export interface ChangedLine {
  argv: string[]
  /** Added to the user's environment, which wins where it names one of them. */
  env: Record<string, string>
  /** The session goes on. False = the whole task was given again. */
  resumed: boolean
}

interface Adapter {
  /** How the headless form begins, for people who gave an interactive one. */
  form: string
  isHeadless(args: string[]): boolean
  line(args: string[], change: Change): { args: string[]; env: Record<string, string>; resumed: boolean }
}

const has = (args: string[], ...flags: string[]): boolean => args.some((arg) => flags.includes(arg))

/** Without options that take a value, in either spelling. */
const withoutValued = (args: string[], ...flags: string[]): string[] =>
  args.filter(
    (arg, at) =>
      !flags.includes(arg) && !flags.includes(args[at - 1] ?? '') && !flags.some((flag) => arg.startsWith(`${flag}=`)),
  )

/** In front of a lone `--`, behind which nothing is an option any more. */
const added = (args: string[], more: string[]): string[] => {
  const at = args.indexOf('--')
  return at < 0 ? [...args, ...more] : [...args.slice(0, at), ...more, ...args.slice(at)]
}

const isWord = (arg: string | undefined): boolean => arg !== undefined && !arg.startsWith('-')

const withWord = (args: string[], at: number, text: string): string[] => [
  ...args.slice(0, at),
  text,
  ...args.slice(at + 1),
]

/** The hint where the prompt stands, if that can be told. */
const withHint = (args: string[], at: number, told: Change['told']): string[] =>
  told === undefined || at < 0
    ? args
    : withWord(args, at, told.session === undefined ? `${args[at] ?? ''}\n\n${told.hint}` : told.hint)

/** Where the prompt of `-p <prompt>` stands; -1 = somewhere else, where it cannot be told from an option's value. */
const promptAfter = (args: string[], ...flags: string[]): number => {
  const at = args.findIndex((arg) => flags.includes(arg))
  return at >= 0 && isWord(args[at + 1]) ? at + 1 : -1
}

const claude: Adapter = {
  form: 'claude -p "<task>"',
  isHeadless: (args) => has(args, '-p', '--print'),
  line: (args, { corrections, told }) => {
    const own = withoutValued(args, '--output-format').filter((arg) => arg !== '--verbose')
    const at = promptAfter(own, '-p', '--print')
    const session = at < 0 ? undefined : told?.session
    const hinted = withHint(own, at, told)
    // An id of a session may be used once.
    const free = told === undefined ? hinted : withoutValued(hinted, '--session-id')
    const words =
      session === undefined && told?.fresh === undefined
        ? free
        : withoutValued(free, '--resume', '-r').filter((arg) => arg !== '--continue' && arg !== '-c')
    const dirs = corrections.addDirs.flatMap((dir) => ['--add-dir', dir])
    const rules = corrections.toolRules ?? []
    const allowed = rules.length === 0 ? [] : ['--allowedTools', ...rules]
    const more = [...(session === undefined ? [] : ['--resume', session]), ...dirs, ...allowed]
    return {
      args: ['--output-format', 'stream-json', '--verbose', ...added(words, more)],
      env: { DISABLE_AUTOUPDATER: '1' },
      resumed: session !== undefined,
    }
  },
}

const codexExec = (args: string[]): number => args.findIndex((arg) => arg === 'exec' || arg === 'e')

/** Options of `codex exec` that take no value: behind any other, the last word may be that option's. */
const codexSwitches = ['--json', '--skip-git-repo-check', '--full-auto', '--ephemeral', '--oss']

/** The prompt when it is the last argument and no option's value; -1 = it cannot be told. `switches` take no value. */
const lastWord = (args: string[], after: number, switches: string[]): number => {
  const last = args.length - 1
  const before = args[last - 1] ?? ''
  const free = last - 1 === after || isWord(before) || switches.includes(before)
  return last > after && isWord(args[last]) && free ? last : -1
}

const codex: Adapter = {
  form: 'codex exec "<task>"',
  isHeadless: (args) => codexExec(args) >= 0,
  line: (args, { corrections, told }) => {
    const own = args.filter((arg) => arg !== '--json')
    const exec = codexExec(own)
    const at = has(own.slice(exec + 1, -1), 'resume') ? -1 : lastWord(own, exec, codexSwitches)
    const session = at < 0 ? undefined : told?.session
    const hinted = withHint(own, at, told).slice(exec + 1)
    // Every flag stands before `resume`, which refuses them.
    const words = session === undefined ? hinted : [...hinted.slice(0, -1), 'resume', session, ...hinted.slice(-1)]
    const skip = corrections.skipGitCheck && !has(own, '--skip-git-repo-check') ? ['--skip-git-repo-check'] : []
    const dirs = corrections.addDirs.flatMap((dir) => ['--add-dir', dir])
    return {
      args: [...own.slice(0, exec + 1), '--json', ...skip, ...dirs, ...words],
      env: { RUST_LOG: 'error,codex_sandboxing=warn' },
      resumed: session !== undefined,
    }
  },
}

const gemini: Adapter = {
  form: 'gemini -p "<task>"',
  isHeadless: (args) => promptAfter(args, '-p', '--prompt') >= 0,
  line: (args, { corrections, told }) => {
    const own = withoutValued(args, '-o', '--output-format')
    const hinted = withHint(own, promptAfter(own, '-p', '--prompt'), told)
    // An id of a session may be used once.
    const free = told === undefined ? hinted : withoutValued(hinted, '--session-id')
    const other =
      told?.fresh === undefined && told?.session === undefined ? free : withoutValued(free, '--resume', '-r')
    const words = told?.session === undefined ? other : [...other, '--resume', told.session]
    const dirs = corrections.addDirs
      .filter((dir) => !dir.includes(','))
      .flatMap((dir) => ['--include-directories', dir])
    const rules = (corrections.toolRules ?? []).flatMap((rule) => ['--allowed-tools', rule])
    return {
      args: [...words, '-o', 'stream-json', ...dirs, ...rules],
      env: { GEMINI_CLI_NO_RELAUNCH: 'true' },
      resumed: told?.session !== undefined,
    }
  },
}

const opencodeSwitches = ['--auto', '--continue', '-c', '--fork', '--share', '--thinking']

const openedBy = (dirs: readonly string[]) => Object.fromEntries(dirs.map((dir) => [`${dir}/**`, 'allow']))

const opencode: Adapter = {
  form: 'opencode run "<task>"',
  isHeadless: (args) => has(args, 'run'),
  line: (args, { corrections, told }) => {
    const own = withoutValued(args, '--format', '--log-level').filter((arg) => arg !== '--print-logs')
    const at = has(own, '--') ? -1 : lastWord(own, own.indexOf('run'), opencodeSwitches)
    const session = at < 0 ? undefined : told?.session
    const hinted = withHint(own, at, told)
    const words =
      session === undefined && told?.fresh === undefined
        ? hinted
        : withoutValued(hinted, '--session', '-s').filter((arg) => !['--continue', '-c', '--fork'].includes(arg))
    const more = session === undefined ? [] : ['--session', session]
    return {
      args: added(words, [...more, '--format', 'json', '--print-logs', '--log-level', 'ERROR']),
      env: {
        OPENCODE_DISABLE_AUTOUPDATE: 'true',
        // It is merged into the user's own permissions: nothing but these directories is opened.
        ...(corrections.addDirs.length === 0
          ? {}
          : { OPENCODE_PERMISSION: JSON.stringify({ external_directory: openedBy(corrections.addDirs) }) }),
      },
      resumed: session !== undefined,
    }
  },
}

const plain: Adapter = {
  form: '',
  isHeadless: () => true,
  line: (args) => ({ args, env: {}, resumed: false }),
}

const adapters: Record<Exclude<Driver['name'], 'acp'>, Adapter> = { claude, codex, gemini, opencode, command: plain }

export const execHarnesses = Object.keys(adapters)

export interface AgentCommand {
  driver: Driver
  argv: readonly string[]
  /** What a correction may change. */
  restriction(environment: Record<string, string | undefined>): Restriction
  /** Directories that the command line gives already. */
  given(cwd: string): string[]
  line(change: Change, cwd?: string): ChangedLine
}

/** `wanted` = a harness's name, or `auto`: by the program's name. Throws USAGE for what waits for a person at a terminal. */
export const agentCommand = (argv: readonly string[], wanted: string): AgentCommand => {
  const [program = '', ...args] = argv
  const word = basename(program)
  const name = wanted === 'auto' ? (word in adapters ? word : 'command') : wanted
  const adapter = adapters[name as keyof typeof adapters] as Adapter | undefined
  const driver = driverNamed(name)
  if (adapter === undefined || driver === undefined)
    throw new AppError(
      'USAGE',
      `--harness ${JSON.stringify(wanted)} is unknown; give auto, ${execHarnesses.join(', ')}`,
    )
  if (!adapter.isHeadless(args))
    throw new AppError(
      'USAGE',
      `"${program}" without its headless option waits for a person at a terminal; give the headless form: unstuck exec -- ${adapter.form}`,
    )
  return {
    driver,
    argv,
    restriction: (environment) => restrictionOf(driver.name, args, environment),
    given: (cwd) => givenDirectories(driver.name, args, cwd),
    line: ({ corrections, ...change }, cwd = process.cwd()) => {
      const addDirs = notGiven(corrections.addDirs, givenDirectories(driver.name, args, cwd))
      const {
        args: changed,
        env,
        resumed,
      } = adapter.line(args, { ...change, corrections: { ...corrections, addDirs } })
      return { argv: [program, ...changed], env, resumed }
    },
  }
}
