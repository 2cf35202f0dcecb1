/** `unstuck land`: lands a ready goal on the user's branch. */
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  program
    .command('land')
    .description(
      'land a ready goal on your branch; if your branch has moved, the work is rebased and verified again first',
    )
    .argument('<goal>', 'id of a goal (g-…)')
    .option(...jsonOption)
    .action((id: string, options: JsonOption) =>
      act(async (io) => {
        const { withLive } = await import('../live/live.ts')
        return withLive(io, options, async (live) =>
          (await import('../run/land.ts')).landGoalCommand(live, id, options),
        )
      }),
    )
}
