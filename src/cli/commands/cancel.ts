/** `unstuck cancel`: end a task or goal. */
import { json, type JsonOption, type Register } from '../command.ts'

export const register: Register = (program, act) => {
  program
    .command('cancel')
    .description('end a task or goal; what the agent left is snapshotted')
    .argument('<id>')
    .option(...json)
    .action((id: string, options: JsonOption) =>
      act(async (io) => (await import('../goal-control.ts')).cancel(io, id, options)),
    )
}
