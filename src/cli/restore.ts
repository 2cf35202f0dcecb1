/** The work of `unstuck restore`. Snapshots are in the shadow repository, so neither an engine nor the store is needed. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { AppError, exitCodes } from '../errors.ts'
import type { Snapshot } from '../workspace/repository-types.ts'
import { repositoryName } from '../workspace/remote.ts'
import { openShadow, type Shadow } from '../workspace/shadow.ts'
import { listSnapshots, restoreSnapshot } from '../workspace/snapshot.ts'
import type { JsonOption } from './command-options.ts'
import { findEngine } from './engine/connect.ts'
import { homeOf } from './engine/home.ts'
import { printLine, printJson, type Io } from './io.ts'
import { refuseRuns } from './person-here.ts'
import { countText, whenText } from './times.ts'

export interface RestoreOptions extends JsonOption {
  into?: string
}

const openSnapshots = async (io: Io): Promise<Shadow> => {
  const { stateDir, repository } = await homeOf(io)
  if (existsSync(join(stateDir, 'shadow.git'))) return openShadow(stateDir, repository)
  throw new AppError(
    'NOT_FOUND',
    `nothing has been run for ${repositoryName(repository)} yet, so there are no snapshots`,
  )
}

const pickSnapshot = (all: Snapshot[], id: string): Snapshot => {
  const found =
    all.find((entry) => entry.id === id) ??
    all.filter((entry) => entry.id.slice(0, entry.id.lastIndexOf('-')) === id).at(-1)
  if (found === undefined)
    throw new AppError('NOT_FOUND', `there is no snapshot ${id}; "unstuck restore" lists the snapshots`)
  return found
}

const showSnapshots = (io: Io, all: Snapshot[], options: RestoreOptions): void => {
  if (options.json === true) printJson(io, all)
  else if (all.length === 0) printLine(io, 'There are no snapshots yet.')
  else
    for (const entry of all)
      printLine(
        io,
        `${entry.id}  ${whenText(entry.at, Date.now())}  ${entry.reason}${entry.leftOut.length === 0 ? '' : `  (${countText(entry.leftOut.length, 'file')} left out)`}`,
      )
}

export const restoreCommand = async (io: Io, id: string | undefined, options: RestoreOptions): Promise<number> => {
  const shadow = await openSnapshots(io)
  const all = await listSnapshots(shadow)
  if (id === undefined) {
    showSnapshots(io, all, options)
    return exitCodes.ok
  }
  if (options.into === undefined)
    throw new AppError('USAGE', `--into is missing; name a new folder: unstuck restore ${id} --into <folder>`)
  const home = await homeOf(io)
  await refuseRuns(io, 'unstuck restore', async () => findEngine(home))
  const snapshot = pickSnapshot(all, id)
  const into = resolve(io.cwd, options.into)
  const { files } = await restoreSnapshot(shadow, { id: snapshot.id, into, signal: io.signal })
  if (options.json === true) printJson(io, { id: snapshot.id, into, files })
  else printLine(io, `restored ${countText(files, 'file')} of ${snapshot.id} into ${into}`)
  for (const left of snapshot.leftOut)
    io.error(`not in the snapshot because of its size: ${left.path} (${left.bytes} bytes)\n`)
  return exitCodes.ok
}
