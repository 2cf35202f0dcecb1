/** The commands that begin work, or the engine, each declared by its arguments and options; what it does is loaded when it runs. */
import { Option } from 'commander'
import {
  collectValues,
  databaseOption,
  positiveNumber,
  withDatabase,
  type DatabaseOption,
  type Register,
  jsonOption,
  type JsonOption,
} from '../command-options.ts'
import type { RunOptions } from '../run/request.ts'
import type { PlanOptions } from '../run/plan-checklist.ts'
import type { ScheduleOptions } from '../schedule.ts'
import type { UpOptions } from '../engine/up.ts'
import type { StopOptions } from '../engine/stop-engine.ts'
import type { DemoOptions } from '../demo/demo.ts'

export const startCommands = {
  run: (program, act) => {
    program
      .command('run')
      .description(
        'work on a goal: a sentence, a Markdown checklist (.md) or a task file (.json, schema/tasks.schema.json)',
      )
      .argument('<goal...>', 'what you want done, or the path of a checklist or task file')
      .option('--merge', 'fast-forward the checked-out branch when the goal is done')
      .option(
        '--loop',
        'let planner, worker, tester and reviewer take turns on each task until promise and gates hold (docs/loop.md)',
      )
      .option('--plan', 'let a planner divide the goal into tasks first')
      .option('--review-plan', 'as --plan, and ask you before the tasks begin')
      .option('--direct', 'work in this folder itself, which may be a plain folder; no commit is made')
      .option(
        '--allow-dir <dir>',
        'directory outside the repository that agents may use (repeatable)',
        collectValues,
        [],
      )
      .option('--harness <name>', 'harness for tasks that name none')
      .addOption(
        new Option(
          '--judge <mode>',
          'who decides whether finished work may land, besides its checks: auto = no one, llm = a reviewer, human = you; the strictest of this, the task and the configuration counts',
        ).choices(['auto', 'llm', 'human']),
      )
      .option('--max-seconds <n>', 'time limit of each run, in seconds', positiveNumber)
      .option('--max-tokens <n>', 'token limit of the goal', positiveNumber)
      .option('--max-cost <usd>', 'cost limit of the goal, in US dollars', positiveNumber)
      .option('--dry-run', 'show the plan and change nothing')
      .option('--detach', 'return as soon as the goal is accepted')
      .option(
        '--no-wait',
        'exit with 75 instead of waiting when a limit of an account or of tokens per hour is reached; the engine continues later',
      )
      .option(...databaseOption)
      .option('--json', 'print events as JSON lines, and the goal last')
      .addHelpText(
        'after',
        `
Examples:
  unstuck run "Fix the failing test in src/parser"
  unstuck run --plan "Add a CSV export with documentation"
  unstuck run --loop "Move the parser to the new AST"
  unstuck run tasks.md --merge`,
      )
      .action((goal: string[], options: RunOptions & DatabaseOption) =>
        act(async (given) => {
          const io = withDatabase(given, options)
          // The live block appears before the rest is loaded, which can take seconds on a busy machine.
          const { withLive } = await import('../live/live.ts')
          return withLive(io, options, async (live) => (await import('../run/run.ts')).runGoal(live, goal, options))
        }),
      )
  },

  plan: (program, act) => {
    program
      .command('plan')
      .description('show how a planner divides a goal into tasks, as a checklist that you can edit and run')
      .argument('<goal...>', 'what you want done')
      .option('--harness <name>', 'harness of the planner')
      .option(...databaseOption)
      .option('--json', 'print the plan as JSON')
      .addHelpText(
        'after',
        `
Only the planner runs. Examples:
  unstuck plan "Add a CSV export with documentation" > plan.md
  unstuck run plan.md`,
      )
      .action((goal: string[], options: PlanOptions & DatabaseOption) =>
        act(async (given) => {
          const io = withDatabase(given, options)
          const { withLive } = await import('../live/live.ts')
          // The checklist is the only standard output, so that it can be written into a file.
          const toError = { ...io, out: io.error, json: false }
          return withLive(toError, {}, async (live) =>
            (await import('../run/plan-checklist.ts')).showPlanOf({ live, io }, goal, options),
          )
        }),
      )
  },

  schedule: (program, act) => {
    const schedule = program
      .command('schedule')
      .description(
        'begin a goal at given times or on a push or a failed check, list what is scheduled, or remove it (docs/schedules.md)',
      )
      .showSuggestionAfterError()
    schedule
      .command('add')
      .description('begin a goal each time that a cron expression names, or on each push or failed check of the branch')
      .usage('[options] <cron> <goal...> | --on <trigger> <goal...>')
      .argument(
        '[words...]',
        'cron expression of five fields in quotes (not with --on), then what you want done, or the path of a checklist or task file, which is read each time',
      )
      .option(
        '--on <trigger>',
        'instead of times: push (new commits of the branch, not of Unstuck) or ci-failed (a check of its head fails on the forge)',
      )
      .option('--time-zone <name>', 'time zone of the times, such as Europe/Berlin (default: yours)')
      .option('--merge', 'fast-forward the branch that is checked out when the goal begins, when it is done')
      .option('--plan', 'let a planner divide the goal into tasks first')
      .option('--harness <name>', 'harness for tasks that name none')
      .option(...databaseOption)
      .option(...jsonOption)
      .addHelpText(
        'after',
        `
Examples:
  unstuck schedule add "0 2 * * *" "Update the dependencies and repair what breaks"
  unstuck schedule add "30 7 * * mon-fri" .unstuck/morning.md --time-zone Europe/Berlin
  unstuck schedule add --on ci-failed "Repair what fails on the default branch"`,
      )
      .action((words: string[], options: ScheduleOptions & DatabaseOption) =>
        act(async (io) =>
          (await import('../schedule.ts')).scheduleAddCommand(withDatabase(io, options), words, options),
        ),
      )
    schedule
      .command('list')
      .description('list the schedules with their next time, and why the last one began no goal')
      .option(...jsonOption)
      .action((options: JsonOption) =>
        act(async (io) => (await import('../schedule.ts')).scheduleListCommand(io, options)),
      )
    schedule
      .command('remove')
      .description('remove a schedule; the goals that it began go on')
      .argument('<id>', 'id of the schedule (s-…)')
      .option(...jsonOption)
      .action((id: string, options: JsonOption) =>
        act(async (io) => (await import('../schedule.ts')).scheduleRemoveCommand(io, id, options)),
      )
  },

  issue: (program, act) => {
    program
      .command('issue')
      .description('work on an issue of the forge (forge.kind in .unstuck/config.json), as "run" does on a sentence')
      .argument('<number>', 'number of an open issue, or its id in the tracker of forge.command')
      .option('--plan', 'let a planner divide the goal into tasks first')
      .option('--review-plan', 'as --plan, and ask you before the tasks begin')
      .option('--harness <name>', 'harness of the task')
      .addOption(
        new Option('--judge <mode>', 'who decides whether finished work may land, besides its checks').choices([
          'auto',
          'llm',
          'human',
        ]),
      )
      .option('--dry-run', 'show the plan and change nothing')
      .option('--detach', 'return as soon as the goal is accepted')
      .option(
        '--no-wait',
        'exit with 75 instead of waiting when a limit of an account or of tokens per hour is reached',
      )
      .option(...databaseOption)
      .option('--json', 'print events as JSON lines, and the goal last')
      .action((number: string, options: Omit<RunOptions, 'allowDir'> & DatabaseOption) =>
        act(async (given) => {
          const io = withDatabase(given, options)
          const { withLive } = await import('../live/live.ts')
          return withLive(io, options, async (live) =>
            (await import('../issue.ts')).issueCommand(live, number, options),
          )
        }),
      )
  },

  preflight: (program, act) => {
    program
      .command('preflight')
      .description('show what a start would open now (planner, agents, judge) and why; nothing is started')
      .argument('[requirement...]', 'what you want done; without it, only what waits is looked at')
      .option(...jsonOption)
      .action((words: string[], options: JsonOption) =>
        act(async (io) => (await import('../preflight.ts')).preflightCommand(io, words.join(' '), options)),
      )
  },

  up: (program, act) => {
    program
      .command('up')
      .description('run the engine of this repository, and restart it after a crash')
      .option(
        '--all',
        'run one engine for all your repositories, and for each one in which you type "unstuck run" later',
      )
      .option('--idle-exit <seconds>', 'exit after this many seconds without work', positiveNumber)
      .option('--control-only', 'serve the dashboard and coordinate workers, but run no tasks')
      .option(
        '--public-url <url>',
        'add a link to each notification of a question that opens a page to answer it; a proxy of yours passes <url>/answer/ to the engine',
      )
      .option(
        '--allow-hidden-callers',
        'let browsers in that cannot be found on this machine (through ssh or a proxy) while agents run; an agent could hide like that as well',
      )
      .option(...databaseOption)
      .action(({ all = false, ...options }: UpOptions & DatabaseOption & { all?: boolean }) =>
        act(async (io) =>
          all
            ? (await import('../engine/up-all.ts')).upAllCommand(io, options, options.databaseUrl)
            : (await import('../engine/up.ts')).upCommand(withDatabase(io, options), options),
        ),
      )
  },

  stop: (program, act) => {
    program
      .command('stop')
      .description('stop the engine of this repository')
      .option('--drain', 'start no new runs, and stop when the current ones have ended')
      .option('--all', 'stop the engines of all repositories and the embedded PostgreSQL')
      .action((options: StopOptions) =>
        act(async (io) => (await import('../engine/stop-engine.ts')).stopCommand(io, options)),
      )
  },

  worker: (program, act) => {
    program
      .command('worker')
      .description('run an engine that only executes tasks, for a PostgreSQL store shared with other engines')
      .option(...databaseOption)
      .action((options: DatabaseOption) =>
        act(async (io) => (await import('../engine/up.ts')).workerCommand(withDatabase(io, options))),
      )
  },

  login: (program, act) => {
    program
      .command('login')
      .description(
        'give the engine the keys of agent CLIs that are set in this shell (it keeps them in memory), and try again what stopped because a CLI could not log in',
      )
      .option(...jsonOption)
      .action((options: JsonOption) => act(async (io) => (await import('../login.ts')).loginCommand(io, options)))
  },

  demo: (program, act) => {
    program
      .command('demo')
      .description('play six tasks, each of which fails in its own way, in a temporary repository')
      .option('--keep', 'keep the folders of the demo')
      .option(
        '--disable <playbook>',
        'switch off a playbook, to see what happens without it (repeatable)',
        collectValues,
        [],
      )
      .option('--json', 'print the report as JSON')
      .action((options: DemoOptions) => act(async (io) => (await import('../demo/demo.ts')).demoCommand(io, options)))
  },
} satisfies Record<string, Register>
