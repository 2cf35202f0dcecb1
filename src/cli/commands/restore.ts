/** `unstuck restore`: lists snapshots, or restores one. */
import { jsonOption, type Register } from '../command-options.ts'
import type { RestoreOptions } from '../restore.ts'

export const register: Register = (program, act) => {
  program
    .command('restore')
    .description('list snapshots, or restore one into a new folder')
    .argument('[snapshot]', 'id of a snapshot, or of a run (r-…) for its newest snapshot')
    .option('--into <folder>', 'new or empty folder to restore into')
    .option(...jsonOption)
    .action((id: string | undefined, options: RestoreOptions) =>
      act(async (io) => (await import('../restore.ts')).restoreCommand(io, id, options)),
    )
}
