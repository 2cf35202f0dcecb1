/** `unstuck land`: bring a ready goal to the user's branch. */
import { json, type JsonOption, type Register } from '../command.ts'

export const register: Register = (program, act) => {
  program
    .command('land')
    .description(
      'bring a ready goal to your branch: rebased and verified again where that has moved, then fast-forwarded',
    )
    .argument('<goal>')
    .option(...json)
    .action((id: string, options: JsonOption) =>
      act(async (io) => {
        const { withLive } = await import('../live/live.ts')
        return withLive(io, options, async (live) => (await import('../run/land.ts')).land(live, id, options))
      }),
    )
}
