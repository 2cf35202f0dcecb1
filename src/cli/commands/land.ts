/** `unstuck land`: lands a ready goal on the user's branch. */
import { jsonOption, type Register } from '../command-options.ts'
import type { LandOptions } from '../run/land.ts'

export const register: Register = (program, act) => {
  program
    .command('land')
    .description(
      'land a ready goal on your branch; if your branch has moved, the work is rebased and verified again first',
    )
    .argument('<goal>', 'id of a goal (g-…)')
    .option(
      '--done',
      'land what is done of a goal that is stuck, failed or cancelled; the rest goes on or stays as it is',
    )
    .option('--into <branch>', 'land on this branch of the repository instead of the one on which the goal was started')
    .option(...jsonOption)
    .action((id: string, options: LandOptions) =>
      act(async (io) => {
        const { withLive } = await import('../live/live.ts')
        return withLive(io, options, async (live) =>
          (await import('../run/land.ts')).landGoalCommand(live, id, options),
        )
      }),
    )
}
