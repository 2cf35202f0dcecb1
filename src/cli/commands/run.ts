/** `unstuck run`: works on a goal. */
import { Option } from 'commander'
import {
  collectValues,
  databaseOption,
  positiveNumber,
  withDatabase,
  type DatabaseOption,
  type Register,
} from '../command-options.ts'
import type { RunOptions } from '../run/request.ts'

export const register: Register = (program, act) => {
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
    .option('--allow-dir <dir>', 'directory outside the repository that agents may use (repeatable)', collectValues, [])
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
}
