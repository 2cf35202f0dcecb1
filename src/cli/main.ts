/**
 * The command line. Commands load their parts when they run, so that `unstuck --version` and a typo cost next to nothing.
 * Every error is one line that names the thing and the next step, with the exit code of the error table.
 */
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, CommanderError } from 'commander'
import { simHelp } from '../../sim/help.ts'
import { AppError, errorTable, exitCodes, messageOf } from '../errors.ts'
import { nearest } from '../validation.ts'
import { collect, portNumber, positive } from './arguments.ts'
import type { Io } from './io.ts'
import { safe } from './render.ts'

const readVersion = (): string => {
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    const path = join(folder, 'package.json')
    if (existsSync(path)) return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
  }
  return 'unknown'
}

type Action = (io: Io) => Promise<number>

const database = [
  '--database-url <url>',
  'PostgreSQL for the store (better: UNSTUCK_DATABASE_URL, which no process list shows)',
] as const

/**
 * From here on the URL travels in the environment alone: it holds a password, and arguments are for everybody to read. The
 * process's own are overwritten as well, where the system allows it.
 */
const withDatabase = (io: Io, { databaseUrl }: { databaseUrl?: string }): Io => {
  if (databaseUrl === undefined) return io
  process.title = 'unstuck'
  return { ...io, environment: { ...io.environment, UNSTUCK_DATABASE_URL: databaseUrl } }
}

const repo = [
  '--repo <url>',
  'a repository by git URL instead of this folder (better with a login: UNSTUCK_REPO_URL, which no process list shows)',
] as const

/** Commands that look at no repository. */
const withoutRepository = new Set(['demo', 'sim', 'classify', 'exec'])

/** As with the database, the address may hold a login; from here on it travels in the environment, and independent of the folder. */
const withRepository = async (io: Io, given: string | undefined, command: string): Promise<Io> => {
  const text = given ?? io.environment.UNSTUCK_REPO_URL ?? ''
  if (given !== undefined) process.title = 'unstuck'
  if (given !== undefined && withoutRepository.has(command))
    throw new AppError('USAGE', `"unstuck ${command}" looks at no repository; leave --repo out`)
  if (text === '' && given === undefined) return io
  const { parseRemote } = await import('../workspace/remote-url.ts')
  const address = parseRemote(text, io.cwd)
  const absolute = address.transport === 'file' ? address.url : text
  return { ...io, environment: { ...io.environment, UNSTUCK_REPO_URL: absolute } }
}

const unknownCommand = (word: string, program: Command): string => {
  const guess = nearest(
    word,
    program.commands.map((command) => command.name()).filter((name) => name !== 'engine'),
  )
  const advice = guess === undefined ? '"unstuck --help" lists the commands' : `perhaps "unstuck ${guess}" is meant`
  return `there is no command ${JSON.stringify(word)}; ${advice}. A goal is given so: unstuck run "<what you want done>"`
}

interface Used {
  command: string
  repo?: string
}

/** Remembers what to do; main does it, so that there is one place where a command's outcome becomes an exit code. */
const createProgram = (choose: (action: Action) => void, version: string): Command => {
  let used: Used = { command: '' }
  const chooseHere = (action: Action): void =>
    choose(async (io) => action(await withRepository(io, used.repo, used.command)))
  const program = new Command('unstuck')
    .description(
      'Runs coding agents on a git repository until the work is done, and gets them unstuck by itself when something fails.',
    )
    .version(version)
    .showSuggestionAfterError()
    .showHelpAfterError('"unstuck --help" lists the commands, "unstuck <command> --help" tells about one.')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'unstuck: ')) })
    .exitOverride()
    .action((_options, command: Command) => {
      const [unknown] = command.args
      if (unknown !== undefined) throw new AppError('USAGE', unknownCommand(unknown, command))
      chooseHere(async (io) => (await import('./commands/home.ts')).home(io))
    })
    .option(...repo)
    .configureHelp({ showGlobalOptions: true })
    .hook('preAction', (_program, command) => {
      used = { command: command.name(), ...command.optsWithGlobals<{ repo?: string }>() }
    })
  addWork(program, chooseHere)
  addShow(program, chooseHere)
  addChange(program, chooseHere)
  addTools(program, chooseHere)
  addClassify(program, chooseHere)
  // After the commands, which would inherit it: here a surplus word is a mistyped command, there it is a mistake.
  program.allowExcessArguments()
  program.addHelpText(
    'after',
    `\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 a person is needed, 4 not found, 5 conflict, 69 no engine, 75 waiting, 78 configuration.`,
  )
  return program
}

const addWork = (program: Command, choose: (action: Action) => void): void => {
  program
    .command('run')
    .description(
      'work on a goal: a sentence, a Markdown checklist (.md) or a task file (.json, schema/tasks.schema.json)',
    )
    .argument('<goal...>', 'what you want done, or the name of a file')
    .option('--merge', 'fast-forward the checked-out branch when the goal is finished')
    .option('--direct', 'work in place, also in a plain folder; no commit is made')
    .option('--allow-dir <dir>', 'a directory outside that agents may be given (repeatable)', collect, [])
    .option('--harness <name>', 'harness of the tasks that name none')
    .option('--max-seconds <n>', 'time ceiling of a run', positive)
    .option('--max-tokens <n>', 'token ceiling of the goal', positive)
    .option('--max-cost <usd>', 'money ceiling of the goal', positive)
    .option('--dry-run', 'show the plan and change nothing')
    .option('--detach', 'return when the goal is accepted')
    .option(...database)
    .option('--json', 'events as JSON lines, the goal last')
    .action((goal: string[], options) =>
      choose(async (io) => (await import('./commands/run.ts')).run(withDatabase(io, options), goal, options)),
    )
  program
    .command('up')
    .description("keep this repository's engine running; restarts it after a crash")
    .option('--idle-exit <seconds>', 'end after this long without work', positive)
    .option('--control-only', 'lead and answer, and execute nothing')
    .option(...database)
    .action((options) =>
      choose(async (io) => (await import('./commands/up.ts')).up(withDatabase(io, options), options)),
    )
  program
    .command('worker')
    .description('an engine that only executes, for a PostgreSQL store that it shares with others')
    .option(...database)
    .action((options) => choose(async (io) => (await import('./commands/up.ts')).worker(withDatabase(io, options))))
  program
    .command('login-url')
    .description('a new address that logs a browser in, once, within ten minutes')
    .option('--json', 'as JSON')
    .action((options) => choose(async (io) => (await import('./commands/up.ts')).loginUrl(io, options)))
  program
    .command('engine', { hidden: true })
    .option('--idle-exit <seconds>', 'end after this long without work', positive)
    .option('--roles <list>', 'control, executor', (text: string) => text.split(','))
    .option(...database)
    .action((options) =>
      choose(async (io) => (await import('./commands/up.ts')).engine(withDatabase(io, options), options)),
    )
  program
    .command('stop')
    .description('stop the engine in order')
    .option('--drain', 'take no new work, and stop when the running runs have ended')
    .action((options) => choose(async (io) => (await import('./commands/change.ts')).stop(io, options)))
}

const addShow = (program: Command, choose: (action: Action) => void): void => {
  const show = () => import('./commands/show.ts')
  const json = ['--json', 'as JSON'] as const
  program
    .command('status')
    .description('goals, tasks with their next step, and what waits for you')
    .option('--ended <count>', 'show this many of the goals that have ended, the newest first (standard: 50)')
    .option(...json)
    .action((options) => choose(async (io) => (await show()).status(io, options)))
  program
    .command('report')
    .description('what landed, recovered, waits and was spent')
    .option('--since <span>', '12h, 30m, 7d or a time', '12h')
    .option(...json)
    .action((options) => choose(async (io) => (await show()).report(io, options)))
  program
    .command('tasks')
    .description('all tasks')
    .option('--goal <id>', 'of this goal')
    .option(...json)
    .action((options) => choose(async (io) => (await show()).tasks(io, options)))
  program
    .command('runs')
    .description('all attempts')
    .option('--task <id>', 'of this task')
    .option(...json)
    .action((options) => choose(async (io) => (await show()).runs(io, options)))
  program
    .command('logs')
    .description('what the agent of a run said and did')
    .argument('<run>', 'a run id (r-…)')
    .option('-f, --follow', 'go on as it grows')
    .option(...json)
    .action((id: string, options) => choose(async (io) => (await show()).logs(io, id, options)))
  program
    .command('events')
    .description('everything that happened')
    .option('--goal <id>', 'of this goal')
    .option('-f, --follow', 'go on as it grows')
    .option(...json)
    .action((options) => choose(async (io) => (await show()).events(io, options)))
  program
    .command('explain')
    .description('the story of a task, run or goal')
    .argument('<id>', 'a task (t-…), run (r-…) or goal (g-…)')
    .option(...json)
    .action((id: string, options) => choose(async (io) => (await show()).explain(io, id, options)))
  program
    .command('doctor')
    .description('check the promises on the live store')
    .option(...json)
    .action((options) => choose(async (io) => (await show()).doctor(io, options)))
}

const addChange = (program: Command, choose: (action: Action) => void): void => {
  const change = () => import('./commands/change.ts')
  const json = ['--json', 'as JSON'] as const
  program
    .command('init')
    .description('write a first .unstuck/config.json')
    .action(() => choose(async (io) => (await change()).init(io)))
  program
    .command('retry')
    .description('try a task or goal again, with a new count of recoveries')
    .argument('<id>')
    .option(...json)
    .action((id: string, options) => choose(async (io) => (await change()).retry(io, id, options)))
  program
    .command('cancel')
    .description('end a task or goal; what the agent left is snapshotted')
    .argument('<id>')
    .option(...json)
    .action((id: string, options) => choose(async (io) => (await change()).cancel(io, id, options)))
  program
    .command('pause')
    .description('start no new work of a goal')
    .argument('<goal>')
    .option(...json)
    .action((id: string, options) => choose(async (io) => (await change()).pause(io, id, options)))
  program
    .command('resume')
    .description('go on with a paused goal, or with all of them')
    .argument('[goal]')
    .option(...json)
    .action((id: string | undefined, options) => choose(async (io) => (await change()).resume(io, id, options)))
  program
    .command('restore')
    .description('list snapshots, or bring one back into a new folder')
    .argument('[snapshot]', 'a snapshot or run id')
    .option('--into <folder>', 'a new or empty folder')
    .option(...json)
    .action((id: string | undefined, options) => choose(async (io) => (await change()).restore(io, id, options)))
  program
    .command('clean')
    .description('remove workspaces and snapshots that nothing needs')
    .option('--dry-run', 'only say what would go')
    .option(...json)
    .action((options) => choose(async (io) => (await change()).clean(io, options)))
}

const addTools = (program: Command, choose: (action: Action) => void): void => {
  program
    .command('sim')
    .description('a scripted model server for Claude, Codex, Gemini and OpenCode, on loopback')
    .argument('<script>', 'a JSON script')
    .option('--port <n>', 'port, 0 = any', portNumber)
    .addHelpText('after', simHelp)
    .action((script: string, options) =>
      choose(async (io) => (await import('./commands/sim.ts')).sim(io, script, options)),
    )
  program
    .command('exec')
    .description(
      'run one headless agent command under the same supervision, with no project, store or engine: unstuck exec -- codex exec "<task>"',
    )
    .argument('<command...>', 'the agent command, behind --')
    .option(
      '--harness <name>',
      'whose events to read: auto (by the program), claude, codex, gemini, opencode, command',
      'auto',
    )
    .option(
      '--allow-dir <dir>',
      'a directory outside that the agent may be given when it is refused (repeatable)',
      collect,
      [],
    )
    .option('--max-wait <seconds>', 'longest single wait for a provider; what needs longer ends with 75', positive, 600)
    .option(
      '--set <key=number>',
      'a stall.* or doomLoop.* of the configuration (docs/config.md), such as stall.silenceSeconds=60 (repeatable)',
      collect,
      [],
    )
    .option('--stdin <file>', 'standard input of the agent (otherwise it is empty)')
    .option('--json', 'events as JSON lines, the result last')
    .action((command: string[], options) =>
      choose(async (io) => (await import('./commands/exec.ts')).exec(io, command, options)),
    )
  program
    .command('harness')
    .description('which agent CLIs are installed, in which version, with credentials or not, and what they can do')
    .option('--json', 'as JSON')
    .action((options) => choose(async (io) => (await import('./commands/harness.ts')).harness(io, options)))
  program
    .command('demo')
    .description('six tasks, each of which fails in its own way, in a repository of its own')
    .option('--keep', 'leave the folders where they are')
    .option('--disable <playbook>', 'switch a playbook off, to see what happens without it (repeatable)', collect, [])
    .option('--json', 'the report as JSON')
    .action((options) => choose(async (io) => (await import('./commands/demo.ts')).demo(io, options)))
}

const addClassify = (program: Command, choose: (action: Action) => void): void => {
  program
    .command('classify')
    .description('say what the output of a failed command means')
    .argument('[log]', 'a log file, or - for standard input')
    .option('--command <line>', 'the command that printed it')
    .option('--exit-code <n>', 'its exit status', Number)
    .option('--jsonl', 'read entries as JSON lines from standard input, answer one JSON line each')
    .action((log: string | undefined, options) =>
      choose(async (io) => (await import('./commands/classify.ts')).classify(io, log, options)),
    )
}

const exitOfError = (error: unknown, io: Io): number => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
  if (error instanceof AppError) {
    // Messages quote files and names, which may hold anything.
    io.error(`unstuck: ${error.message.split('\n').map(safe).join('\n')}\n`)
    return errorTable[error.code].exit
  }
  const { code, path, syscall } = error as NodeJS.ErrnoException
  if (code !== undefined && path !== undefined) {
    io.error(
      `unstuck: ${safe(path)} cannot be used (${code} at ${syscall}); let this user read and write there, then try again\n`,
    )
    return exitCodes.failed
  }
  io.error(
    `unstuck: unexpected error, please report it: ${error instanceof Error ? (error.stack ?? messageOf(error)) : String(error)}\n`,
  )
  return exitCodes.failed
}

const createIo = (version: string): Io => {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal))
  // A reader that closed the pipe (head, less) wants nothing more; that is no error of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') stop.abort('EPIPE')
    else throw error
  })
  return {
    cwd: process.cwd(),
    environment: process.env,
    out: (text) => void process.stdout.write(text),
    error: (text) => void process.stderr.write(text),
    colours: process.stdout.isTTY && process.env.NO_COLOR === undefined,
    version,
    signal: stop.signal,
    self: [process.execPath, process.argv[1] ?? ''],
  }
}

/** An entry such as `./node_modules/.bin` means another folder wherever a program is started: in a workspace, the agent's. */
const dropRelativeFolders = (): void => {
  const folders = (process.env.PATH ?? '').split(delimiter)
  process.env.PATH = folders.filter((folder) => isAbsolute(folder)).join(delimiter)
}

const main = async (): Promise<number> => {
  dropRelativeFolders()
  const version = readVersion()
  const io = createIo(version)
  let chosen: Action | undefined
  try {
    const program = createProgram((action) => (chosen = action), version)
    for (const command of [program, ...program.commands]) command.exitOverride()
    program.parse(process.argv)
    return chosen === undefined ? exitCodes.ok : await chosen(io)
  } catch (error) {
    return exitOfError(error, io)
  }
}

process.exitCode = await main()
