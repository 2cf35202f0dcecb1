/** `unstuck run`: work on a goal. */
import { collect, database, positive, withDatabase, type DatabaseOption, type Register } from '../command.ts'
import type { RunOptions } from '../run/request.ts'

export const register: Register = (program, act) => {
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
    .option('--no-wait', 'end with 75 instead of waiting for the limit of an account; the engine continues later')
    .option(...database)
    .option('--json', 'events as JSON lines, the goal last')
    .action((goal: string[], options: RunOptions & DatabaseOption) =>
      act(async (given) => {
        const io = withDatabase(given, options)
        // Shown before the rest is loaded, which takes its time on a busy machine.
        const { withLive } = await import('../live/live.ts')
        return withLive(io, options, async (live) => (await import('../run/run.ts')).run(live, goal, options))
      }),
    )
}
