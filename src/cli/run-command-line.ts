/**
 * Assembles the command line. Each command is declared in a file of commands/, and only the file of the requested
 * command is loaded, so that `unstuck --version` and `unstuck exec` start fast.
 */
import { Command, Help, type Option } from 'commander'
import { exitCodes, AppError } from '../errors.ts'
import type { CommandAction, Register } from './command-options.ts'
import { runToEnd } from './end-by-signal.ts'
import { exitOfError } from './exit.ts'
import type { Io } from './io.ts'
import { safe } from './render.ts'

/** `--repo`, an option of every command: a repository by URL instead of the current folder. */
const repositoryOption = [
  '--repo <url>',
  'git URL of a repository to use instead of this folder (with a password, safer: UNSTUCK_REPO_URL, which process lists do not show)',
] as const

/** Commands that use no repository. */
const withoutRepository = new Set(['demo', 'sim', 'classify', 'exec', 'completion', 'repos'])

/** Moves the address to the environment, where other users cannot read a password in it. A relative path becomes absolute. */
const withRepository = async (io: Io, given: string | undefined, command: string): Promise<Io> => {
  const text = given ?? io.environment.UNSTUCK_REPO_URL ?? ''
  if (given !== undefined) process.title = 'unstuck'
  if (given !== undefined && withoutRepository.has(command))
    throw new AppError('USAGE', `"unstuck ${command}" uses no repository; leave out --repo`)
  if (text === '' && given === undefined) return io
  const { parseRemote } = await import('../workspace/remote-url.ts')
  const address = parseRemote(text, io.cwd)
  const absolute = address.transport === 'file' ? address.url : text
  return { ...io, environment: { ...io.environment, UNSTUCK_REPO_URL: absolute } }
}

const start = async () => (await import('./commands/start.ts')).startCommands
const look = async () => (await import('./commands/look.ts')).lookCommands
const decide = async () => (await import('./commands/decisions.ts')).decideCommands
const change = async () => (await import('./commands/change.ts')).changeCommands
const lookAfter = async () => (await import('./commands/look-after.ts')).lookAfterCommands

/** By purpose and in the order of the help. */
const groups: Record<string, Record<string, () => Promise<Register>>> = {
  Start: {
    init: async () => (await import('./commands/init.ts')).register,
    run: async () => (await start()).run,
    plan: async () => (await start()).plan,
    schedule: async () => (await start()).schedule,
    issue: async () => (await start()).issue,
    preflight: async () => (await start()).preflight,
    exec: async () => (await import('./commands/exec.ts')).register,
    up: async () => (await start()).up,
    stop: async () => (await start()).stop,
    service: async () => (await import('./commands/service.ts')).register,
    worker: async () => (await start()).worker,
    login: async () => (await start()).login,
    'login-url': async () => (await import('./commands/login-url.ts')).register,
    engine: async () => (await import('./commands/engine.ts')).register,
    demo: async () => (await start()).demo,
  },
  Look: {
    status: async () => (await import('./commands/status.ts')).register,
    tasks: async () => (await import('./commands/tasks.ts')).register,
    runs: async () => (await import('./commands/runs.ts')).register,
    repos: async () => (await look()).repos,
    report: async () => (await import('./commands/report.ts')).register,
    logs: async () => (await look()).logs,
    diff: async () => (await import('./commands/diff.ts')).register,
    events: async () => (await look()).events,
    explain: async () => (await import('./commands/explain.ts')).register,
    quota: async () => (await import('./commands/quota.ts')).register,
    harness: async () => (await look()).harness,
    classify: async () => (await look()).classify,
  },
  Decide: {
    inbox: async () => (await import('./commands/inbox.ts')).register,
    answer: async () => (await decide()).answer,
    approve: async () => (await decide()).approve,
    reject: async () => (await decide()).reject,
    'approve-recovery': async () => (await decide())['approve-recovery'],
    'reject-recovery': async () => (await decide())['reject-recovery'],
    'resolve-recovery': async () => (await decide())['resolve-recovery'],
    land: async () => (await decide()).land,
    revert: async () => (await decide()).revert,
  },
  Change: {
    retry: async () => (await change()).retry,
    tell: async () => (await change()).tell,
    edit: async () => (await change()).edit,
    'take-over': async () => (await change())['take-over'],
    'give-back': async () => (await change())['give-back'],
    cancel: async () => (await change()).cancel,
    pause: async () => (await change()).pause,
    resume: async () => (await change()).resume,
    link: async () => (await change()).link,
    grants: async () => (await change()).grants,
  },
  'Look after': {
    config: async () => (await lookAfter()).config,
    policy: async () => (await lookAfter()).policy,
    playbook: async () => (await lookAfter()).playbook,
    notify: async () => (await lookAfter()).notify,
    doctor: async () => (await import('./commands/doctor.ts')).register,
    restore: async () => (await lookAfter()).restore,
    clean: async () => (await import('./commands/clean.ts')).register,
    store: async () => (await import('./commands/store.ts')).register,
    completion: async () => (await lookAfter()).completion,
    mcp: async () => (await lookAfter()).mcp,
    sim: async () => (await import('./commands/sim.ts')).register,
  },
}

/** The declaration of each command, which also puts it under the heading of its purpose. */
const commands = Object.fromEntries(
  Object.entries(groups).flatMap(([heading, members]) =>
    Object.entries(members).map(([name, load]) => {
      const grouped = async (): Promise<Register> => {
        const register = await load()
        return (program, act) => {
          register(program, act)
          program.commands.find((command) => command.name() === name)?.helpGroup(`${heading}:`)
        }
      }
      return [name, grouped] as const
    }),
  ),
)

const safeLines = (text: string): string => text.split('\n').map(safe).join('\n')

/** As the parser words it, without the default of a repeatable option: an empty list tells a reader nothing. */
const optionDescription = (option: Option): string =>
  Array.isArray(option.defaultValue) ? option.description : new Help().optionDescription(option)

const createProgram = ({ version, out, error }: Pick<Io, 'version' | 'out' | 'error'>): Command =>
  new Command('unstuck')
    .description(
      'Runs coding agents on a git repository until the work is done, and gets them unstuck by itself when something fails.',
    )
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .showSuggestionAfterError()
    .showHelpAfterError('See "unstuck --help", or "unstuck <command> --help" for one command.')
    // Error messages quote the arguments, and pasted text may contain terminal sequences.
    .configureOutput({
      ...{ writeOut: out, writeErr: error },
      outputError: (text, write) => write(safeLines(text.replace(/^error: /, 'unstuck: '))),
    })
    .exitOverride()
    .option(...repositoryOption)
    .configureHelp({ showGlobalOptions: true, optionDescription })
    .addHelpText(
      'after',
      `
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a person is needed, 4 not found,
5 conflict, 69 no engine, 75 waiting, 78 configuration; 130 and 143 stopped by
SIGINT or SIGTERM.`,
    )

/** `engine` is hidden: only `unstuck up` starts it, so it is no suggestion for a mistyped command. */
const guessable = Object.keys(commands).filter((name) => name !== 'engine')

/** Loads the declaration of the command in the arguments, or all declarations for the help of the program. */
const declarations = async (program: Command, argv: string[]): Promise<Register[]> => {
  const { operands, unknown } = program.parseOptions(argv)
  const load = Object.entries(commands).find(([name]) => name === operands[0])?.[1]
  // The completion script lists the options of all commands.
  const wantsAll = operands[0] === 'completion'
  if (load !== undefined && !wantsAll) return [await load()]
  const wantsHelp = unknown.includes('--help') || unknown.includes('-h')
  const all = await Promise.all(wantsHelp || wantsAll ? Object.values(commands).map((load) => load()) : [])
  const { registerOverview } = await import('./commands/overview.ts')
  return [...all, registerOverview(guessable, operands[0])]
}

/** The program with all of its commands, declared but not to be run: what docs/commands.md is generated from. */
export const declaredProgram = async (version: string): Promise<Command> => {
  const program = createProgram({ version, out: () => {}, error: () => {} })
  for (const load of Object.values(commands)) (await load())(program, () => {})
  return program
}

/** Parses the arguments; undefined if the parser has already handled them, as it does `--help`. */
const parse = async (argv: string[], io: Io): Promise<{ command: string; action: CommandAction } | undefined> => {
  const program = createProgram(io)
  let chosen: CommandAction | undefined
  let used: { command: string; repo?: string } = { command: '' }
  program.hook('preAction', (_program, command) => {
    used = { command: command.name(), ...command.optsWithGlobals<{ repo?: string }>() }
  })
  const act = (action: CommandAction): void => {
    chosen = async (given) => {
      const io = await withRepository(given, used.repo, used.command)
      return action(io)
    }
  }
  for (const register of await declarations(program, argv)) register(program, act)
  for (const command of program.commands) command.showHelpAfterError(`See "unstuck ${command.name()} --help".`)
  program.parse(argv, { from: 'user' })
  return chosen && { command: used.command, action: chosen }
}

/** One command from its arguments to its exit status. `leave` ends the process when a signal leaves no time for that. */
export const runCommandLine = async (argv: string[], io: Io, leave: (status: number) => never): Promise<number> => {
  try {
    const chosen = await parse(argv, io)
    if (chosen === undefined) return exitCodes.ok
    const work = (): Promise<number> => chosen.action(io)
    return await runToEnd(io, chosen.command, { work, leave })
  } catch (error) {
    return exitOfError(error, io)
  }
}
