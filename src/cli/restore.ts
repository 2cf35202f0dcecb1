/** The work of `unstuck restore`. Snapshots live in the shadow repository, so it needs no engine and no store. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { AppError, exitCodes } from '../errors.ts'
import type { Snapshot } from '../workspace/contract.ts'
import { repositoryName } from '../workspace/remote.ts'
import { openShadow, type Shadow } from '../workspace/shadow.ts'
import { listSnapshots, restoreSnapshot } from '../workspace/snapshot.ts'
import type { JsonOption } from './command.ts'
import { placeOf } from './engine/place.ts'
import { line, printJson, type Io } from './io.ts'
import { whenText } from './times.ts'

export interface RestoreOptions extends JsonOption {
  into?: string
}

const openSnapshots = async (io: Io): Promise<Shadow> => {
  const { stateDir, repository } = await placeOf(io)
  if (existsSync(join(stateDir, 'shadow.git'))) return openShadow(stateDir, repository)
  throw new AppError('NOT_FOUND', `nothing was ever run for ${repositoryName(repository)}, so there is no snapshot`)
}

const pickSnapshot = (all: Snapshot[], id: string): Snapshot => {
  const found =
    all.find((entry) => entry.id === id) ??
    all.filter((entry) => entry.id.slice(0, entry.id.lastIndexOf('-')) === id).at(-1)
  if (found === undefined)
    throw new AppError('NOT_FOUND', `there is no snapshot ${id}; "unstuck restore" without arguments lists them`)
  return found
}

const showSnapshots = (io: Io, all: Snapshot[], options: RestoreOptions): void => {
  if (options.json === true) printJson(io, all)
  else if (all.length === 0) line(io, 'No snapshot was made yet.')
  else
    for (const entry of all)
      line(
        io,
        `${entry.id}  ${whenText(entry.at, Date.now())}  ${entry.reason}${entry.leftOut.length === 0 ? '' : `  (${entry.leftOut.length} file(s) left out)`}`,
      )
}

export const restore = async (io: Io, id: string | undefined, options: RestoreOptions): Promise<number> => {
  const shadow = await openSnapshots(io)
  const all = await listSnapshots(shadow)
  if (id === undefined) {
    showSnapshots(io, all, options)
    return exitCodes.ok
  }
  if (options.into === undefined)
    throw new AppError('USAGE', `say where to put it: unstuck restore ${id} --into <new folder>`)
  const snapshot = pickSnapshot(all, id)
  const into = resolve(io.cwd, options.into)
  const { files } = await restoreSnapshot(shadow, { id: snapshot.id, into, signal: io.signal })
  if (options.json === true) printJson(io, { id: snapshot.id, into, files })
  else line(io, `${files} file(s) of ${snapshot.id} are in ${into}`)
  for (const left of snapshot.leftOut) io.error(`left out because of its size: ${left.path} (${left.bytes} bytes)\n`)
  return exitCodes.ok
}
