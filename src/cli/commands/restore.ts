/** `unstuck restore`: list snapshots, or bring one back. */
import { json, type Register } from '../command.ts'
import type { RestoreOptions } from '../restore.ts'

export const register: Register = (program, act) => {
  program
    .command('restore')
    .description('list snapshots, or bring one back into a new folder')
    .argument('[snapshot]', 'a snapshot or run id')
    .option('--into <folder>', 'a new or empty folder')
    .option(...json)
    .action((id: string | undefined, options: RestoreOptions) =>
      act(async (io) => (await import('../restore.ts')).restore(io, id, options)),
    )
}
