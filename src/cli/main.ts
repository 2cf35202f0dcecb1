/**
 * The command line, assembled: the list of the commands, each of which declares itself in a file of commands/. Only the
 * file of the command that is asked for is loaded, so that `unstuck --version` and `unstuck exec` start at once.
 */
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { exitCodes } from '../errors.ts'
import type { Action, Register } from './command.ts'
import { runToEnd } from './end-by-signal.ts'
import { exitOfError } from './exit.ts'
import { createIo } from './io.ts'
import { safe } from './render.ts'
import { repository, withRepository } from './repository-option.ts'

/** In the order of the help. The file of each declares the command of this name. */
const commands: Record<string, () => Promise<{ register: Register }>> = {
  run: () => import('./commands/run.ts'),
  up: () => import('./commands/up.ts'),
  worker: () => import('./commands/worker.ts'),
  'login-url': () => import('./commands/login-url.ts'),
  engine: () => import('./commands/engine.ts'),
  stop: () => import('./commands/stop.ts'),
  status: () => import('./commands/status.ts'),
  report: () => import('./commands/report.ts'),
  tasks: () => import('./commands/tasks.ts'),
  runs: () => import('./commands/runs.ts'),
  logs: () => import('./commands/logs.ts'),
  events: () => import('./commands/events.ts'),
  explain: () => import('./commands/explain.ts'),
  doctor: () => import('./commands/doctor.ts'),
  init: () => import('./commands/init.ts'),
  answer: () => import('./commands/answer.ts'),
  approve: () => import('./commands/approve.ts'),
  retry: () => import('./commands/retry.ts'),
  edit: () => import('./commands/edit.ts'),
  'take-over': () => import('./commands/take-over.ts'),
  'give-back': () => import('./commands/give-back.ts'),
  cancel: () => import('./commands/cancel.ts'),
  land: () => import('./commands/land.ts'),
  pause: () => import('./commands/pause.ts'),
  resume: () => import('./commands/resume.ts'),
  restore: () => import('./commands/restore.ts'),
  clean: () => import('./commands/clean.ts'),
  sim: () => import('./commands/sim.ts'),
  exec: () => import('./commands/exec.ts'),
  harness: () => import('./commands/harness.ts'),
  demo: () => import('./commands/demo.ts'),
  classify: () => import('./commands/classify.ts'),
}

const readVersion = (): string => {
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    const path = join(folder, 'package.json')
    if (existsSync(path)) return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
  }
  return 'unknown'
}

const shown = (text: string): string => text.split('\n').map(safe).join('\n')

const createProgram = (version: string): Command =>
  new Command('unstuck')
    .description(
      'Runs coding agents on a git repository until the work is done, and gets them unstuck by itself when something fails.',
    )
    .version(version)
    .showSuggestionAfterError()
    .showHelpAfterError('"unstuck --help" lists the commands, "unstuck <command> --help" explains one.')
    // What was typed is quoted, and may have been pasted.
    .configureOutput({ outputError: (text, write) => write(shown(text.replace(/^error: /, 'unstuck: '))) })
    .exitOverride()
    .option(...repository)
    .configureHelp({ showGlobalOptions: true })
    .addHelpText(
      'after',
      `\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 a person is needed, 4 not found, 5 conflict, 69 no engine, 75 waiting, 78 configuration; 130 and 143 stopped by SIGINT or SIGTERM.`,
    )

/** The hidden command is for `unstuck up`; no mistyped word is meant to be it. */
const guessable = Object.keys(commands).filter((name) => name !== 'engine')

/** The declaration of the command that the arguments name; all of them for the help of the program. */
const declarations = async (program: Command, argv: string[]): Promise<Register[]> => {
  const { operands, unknown } = program.parseOptions(argv)
  const load = Object.entries(commands).find(([name]) => name === operands[0])?.[1]
  if (load !== undefined) return [(await load()).register]
  const wantsHelp = unknown.includes('--help') || unknown.includes('-h')
  const all = await Promise.all(wantsHelp ? Object.values(commands).map((load) => load()) : [])
  const { registerHome } = await import('./commands/home.ts')
  return [...all.map(({ register }) => register), registerHome(guessable)]
}

/** What the arguments ask for; nothing if they are answered already, as `--help` is. */
const parse = async (argv: string[], version: string): Promise<{ command: string; action: Action } | undefined> => {
  const program = createProgram(version)
  let chosen: Action | undefined
  let used: { command: string; repo?: string } = { command: '' }
  program.hook('preAction', (_program, command) => {
    used = { command: command.name(), ...command.optsWithGlobals<{ repo?: string }>() }
  })
  const act = (action: Action): void => {
    chosen = async (io) => action(await withRepository(io, used.repo, used.command))
  }
  for (const register of await declarations(program, argv)) register(program, act)
  program.parse(argv, { from: 'user' })
  return chosen && { command: used.command, action: chosen }
}

/** An entry such as `./node_modules/.bin` means another folder wherever a program is started: in a workspace, the agent's. */
const dropRelativeFolders = (): void => {
  const folders = (process.env.PATH ?? '').split(delimiter)
  process.env.PATH = folders.filter((folder) => isAbsolute(folder)).join(delimiter)
}

const main = async (): Promise<number> => {
  dropRelativeFolders()
  const version = readVersion()
  const io = createIo(version, process.env)
  try {
    const chosen = await parse(process.argv.slice(2), version)
    if (chosen === undefined) return exitCodes.ok
    const work = (): Promise<number> => chosen.action(io)
    return await runToEnd(io, chosen.command, { work, leave: (status) => process.exit(status) })
  } catch (error) {
    return exitOfError(error, io)
  }
}

process.exitCode = await main()
