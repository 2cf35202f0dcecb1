/** `unstuck clean`: removes what is no longer needed, and says what stays and why. */
import { exitCodes } from '../../errors.ts'
import type { Client } from '../engine/client.ts'
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

interface Stored {
  kind: string
  count: number
  bytes: number
  reason: string
}

/** What is smaller than this is not worth a line. */
const leastShown = 1e6

const showStored = (io: Io, parts: readonly Stored[]): void => {
  const shown = parts.filter(({ kind, bytes }) => bytes >= leastShown || kind.startsWith('branch '))
  if (shown.length > 0) printLine(io, 'What stays:')
  for (const { kind, count, bytes, reason } of shown) {
    const name = count > 1 ? `${kind} (${count})` : kind
    printLine(io, `  ${bytes === 0 ? '' : `${sizeText(bytes)} `}${name}: ${reason}`)
  }
}

interface Listed {
  removed: Removed[]
  stored: Stored[]
}

const listedBy = async (client: Client, dryRun: boolean): Promise<Listed> => ({
  removed: await client.post<Removed[]>('/clean', { dryRun }),
  stored: await client.get<Stored[]>('/storage'),
})

/** Starts no engine. A repository by URL is the exception, because only its engine asks the remote. */
const removable = async (io: Io): Promise<Listed> => {
  const { homeOf } = await import('../engine/home.ts')
  if ((await homeOf(io)).repository.url !== undefined) {
    const { connectToExisting } = await import('../engine/connect-to-change.ts')
    return listedBy(await connectToExisting(io), true)
  }
  const { readOnly } = await import('../engine/read-only.ts')
  return readOnly(io, async ({ client }) => ({
    removed: await client.get<Removed[]>('/clean'),
    stored: await client.get<Stored[]>('/storage'),
  }))
}

const remove = async (io: Io): Promise<Listed> => {
  const { connectToExisting } = await import('../engine/connect-to-change.ts')
  return listedBy(await connectToExisting(io), false)
}

const clean = async (io: Io, options: CleanOptions): Promise<number> => {
  const { removed, stored } = options.dryRun === true ? await removable(io) : await remove(io)
  if (options.json === true) printJson(io, removed)
  else {
    if (removed.length === 0) printLine(io, 'Nothing to remove.')
    else showRemoved(io, removed, options.dryRun === true)
    showStored(io, stored)
  }
  return removed.some(({ problem }) => problem !== undefined) ? exitCodes.failed : exitCodes.ok
}

export const register: Register = (program, act) => {
  program
    .command('clean')
    .description(
      'remove workspaces, branches, snapshots, packages and check results that are no longer needed; says what stays',
    )
    .option('--dry-run', 'list what would be removed, and remove nothing')
    .option(...jsonOption)
    .action((options: CleanOptions) => act((io) => clean(io, options)))
}
