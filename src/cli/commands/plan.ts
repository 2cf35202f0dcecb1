/** `unstuck plan`: shows how a planner divides a goal into tasks, as a checklist. */
import { databaseOption, withDatabase, type DatabaseOption, type Register } from '../command-options.ts'
import type { PlanOptions } from '../run/plan-checklist.ts'

export const register: Register = (program, act) => {
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
}
