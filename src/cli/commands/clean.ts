/** `unstuck clean`: removes workspaces, snapshots and check results that are no longer needed. */
import { exitCodes } from '../../errors.ts'
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'
import { printLine, printJson, type Io } from '../io.ts'

interface CleanOptions extends JsonOption {
  dryRun?: boolean
}

interface Removed {
  kind: string
  id: string
  reason: string
  bytes?: number
  problem?: string
}

const sizeText = (bytes: number): string =>
  bytes >= 1e9
    ? `${(bytes / 1e9).toFixed(1)} GB`
    : bytes >= 1e6
      ? `${(bytes / 1e6).toFixed(1)} MB`
      : `${Math.ceil(bytes / 1e3)} kB`

const showRemoved = (io: Io, removed: readonly Removed[], dryRun: boolean): void => {
  for (const { kind, id, reason, bytes, problem } of removed) {
    const size = bytes === undefined ? '' : ` (${sizeText(bytes)})`
    const done = dryRun ? 'would remove' : problem === undefined ? 'removed' : 'could not remove'
    printLine(io, `${done} ${kind} ${id}${size}: ${problem ?? reason}`)
  }
  const freed = removed.reduce((sum, { bytes = 0, problem }) => sum + (problem === undefined ? bytes : 0), 0)
  if (freed > 0) printLine(io, `${dryRun ? 'It would free' : 'Freed'} ${sizeText(freed)}.`)
}

/** Starts no engine. A repository by URL is the exception, because only its engine asks the remote. */
const removable = async (io: Io): Promise<Removed[]> => {
  const { homeOf } = await import('../engine/home.ts')
  if ((await homeOf(io)).repository.url !== undefined) {
    const { connectToExisting } = await import('../engine/connect-to-change.ts')
    return (await connectToExisting(io)).post<Removed[]>('/clean', { dryRun: true })
  }
  const { readOnly } = await import('../engine/read-only.ts')
  return readOnly(io, ({ client }) => client.get<Removed[]>('/clean'))
}

const remove = async (io: Io): Promise<Removed[]> => {
  const { connectToExisting } = await import('../engine/connect-to-change.ts')
  return (await connectToExisting(io)).post<Removed[]>('/clean', { dryRun: false })
}

const clean = async (io: Io, options: CleanOptions): Promise<number> => {
  const removed = options.dryRun === true ? await removable(io) : await remove(io)
  if (options.json === true) printJson(io, removed)
  else if (removed.length === 0) printLine(io, 'Nothing to remove.')
  else showRemoved(io, removed, options.dryRun === true)
  return removed.some(({ problem }) => problem !== undefined) ? exitCodes.failed : exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('clean')
    .description('remove workspaces, snapshots and check results that are no longer needed')
    .option('--dry-run', 'list what would be removed, and remove nothing')
    .option(...jsonOption)
    .action((options: CleanOptions) => act((io) => clean(io, options)))
}
