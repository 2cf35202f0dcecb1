/** `unstuck clean`: removes workspaces and snapshots that nothing needs any more. */
import { exitCodes } from '../../errors.ts'
import { json, type JsonOption, type Register } from '../command.ts'
import { line, printJson, type Io } from '../io.ts'

interface CleanOptions extends JsonOption {
  dryRun?: boolean
}

const clean = async (io: Io, options: CleanOptions): Promise<number> => {
  const { connectKnown } = await import('../engine/connect.ts')
  const client = await connectKnown(io)
  const removed = await client.post<{ kind: string; id: string; reason: string }[]>('/clean', {
    dryRun: options.dryRun ?? false,
  })
  if (options.json === true) printJson(io, removed)
  else if (removed.length === 0) line(io, 'Nothing to remove.')
  else
    for (const entry of removed)
      line(io, `${options.dryRun === true ? 'would remove' : 'removed'} ${entry.kind} ${entry.id}: ${entry.reason}`)
  return exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('clean')
    .description('remove workspaces and snapshots that nothing needs')
    .option('--dry-run', 'only say what would go')
    .option(...json)
    .action((options: CleanOptions) => act((io) => clean(io, options)))
}
