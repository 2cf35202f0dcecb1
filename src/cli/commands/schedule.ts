/** `unstuck schedule`: goals that begin again and again at given times. */
import { databaseOption, jsonOption, withDatabase, type DatabaseOption } from '../command-options.ts'
import type { JsonOption, Register } from '../command-options.ts'
import type { ScheduleOptions } from '../schedule.ts'

export const register: Register = (program, act) => {
  const schedule = program
    .command('schedule')
    .description('begin a goal at given times, list what is scheduled, or remove it (docs/schedules.md)')
    .showSuggestionAfterError()
  schedule
    .command('add')
    .description('begin a goal each time that a cron expression names')
    .argument('<cron>', 'five fields in quotes: minute, hour, day of the month, month, day of the week')
    .argument('<goal...>', 'what you want done, or the path of a checklist or task file, which is read each time')
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
  unstuck schedule add "30 7 * * mon-fri" .unstuck/morning.md --time-zone Europe/Berlin`,
    )
    .action((cron: string, goal: string[], options: ScheduleOptions & DatabaseOption) =>
      act(async (io) =>
        (await import('../schedule.ts')).scheduleAddCommand(withDatabase(io, options), [cron, goal], options),
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
}
