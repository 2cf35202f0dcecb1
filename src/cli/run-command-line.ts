/**
 * Assembles the command line. Each command declares itself in a file of commands/, and only the file of the requested
 * command is loaded, so that `unstuck --version` and `unstuck exec` start fast.
 */
import { Command, Help, type Option } from 'commander'
import { exitCodes } from '../errors.ts'
import type { CommandAction, Register } from './command-options.ts'
import { runToEnd } from './end-by-signal.ts'
import { exitOfError } from './exit.ts'
import type { Io } from './io.ts'
import { safe } from './render.ts'
import { repositoryOption, withRepository } from './repository-option.ts'

/** By purpose and in the order of the help. Each file declares the command of this name. */
const groups: Record<string, Record<string, () => Promise<{ register: Register }>>> = {
  Start: {
    init: () => import('./commands/init.ts'),
    run: () => import('./commands/run.ts'),
    plan: () => import('./commands/plan.ts'),
    schedule: () => import('./commands/schedule.ts'),
    issue: () => import('./commands/issue.ts'),
    preflight: () => import('./commands/preflight.ts'),
    exec: () => import('./commands/exec.ts'),
    up: () => import('./commands/up.ts'),
    stop: () => import('./commands/stop.ts'),
    service: () => import('./commands/service.ts'),
    worker: () => import('./commands/worker.ts'),
    login: () => import('./commands/login.ts'),
    'login-url': () => import('./commands/login-url.ts'),
    engine: () => import('./commands/engine.ts'),
    demo: () => import('./commands/demo.ts'),
  },
  Look: {
    status: () => import('./commands/status.ts'),
    tasks: () => import('./commands/tasks.ts'),
    runs: () => import('./commands/runs.ts'),
    repos: () => import('./commands/repos.ts'),
    report: () => import('./commands/report.ts'),
    logs: () => import('./commands/logs.ts'),
    diff: () => import('./commands/diff.ts'),
    events: () => import('./commands/events.ts'),
    explain: () => import('./commands/explain.ts'),
    quota: () => import('./commands/quota.ts'),
    harness: () => import('./commands/harness.ts'),
    classify: () => import('./commands/classify.ts'),
  },
  Decide: {
    inbox: () => import('./commands/inbox.ts'),
    answer: () => import('./commands/answer.ts'),
    approve: () => import('./commands/approve.ts'),
    reject: () => import('./commands/reject.ts'),
    'approve-recovery': () => import('./commands/approve-recovery.ts'),
    'reject-recovery': () => import('./commands/reject-recovery.ts'),
    'resolve-recovery': () => import('./commands/resolve-recovery.ts'),
    land: () => import('./commands/land.ts'),
    revert: () => import('./commands/revert.ts'),
  },
  Change: {
    retry: () => import('./commands/retry.ts'),
    edit: () => import('./commands/edit.ts'),
    'take-over': () => import('./commands/take-over.ts'),
    'give-back': () => import('./commands/give-back.ts'),
    cancel: () => import('./commands/cancel.ts'),
    pause: () => import('./commands/pause.ts'),
    resume: () => import('./commands/resume.ts'),
    link: () => import('./commands/link.ts'),
    grants: () => import('./commands/grants.ts'),
  },
  'Look after': {
    config: () => import('./commands/config.ts'),
    policy: () => import('./commands/policy.ts'),
    playbook: () => import('./commands/playbook.ts'),
    notify: () => import('./commands/notify.ts'),
    doctor: () => import('./commands/doctor.ts'),
    restore: () => import('./commands/restore.ts'),
    clean: () => import('./commands/clean.ts'),
    store: () => import('./commands/store.ts'),
    completion: () => import('./commands/completion.ts'),
    mcp: () => import('./commands/mcp.ts'),
    sim: () => import('./commands/sim.ts'),
  },
}

/** The declaration of each command, which also puts it under the heading of its purpose. */
const commands = Object.fromEntries(
  Object.entries(groups).flatMap(([heading, members]) =>
    Object.entries(members).map(([name, load]) => {
      const grouped = async (): Promise<Register> => {
        const { register } = await load()
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
