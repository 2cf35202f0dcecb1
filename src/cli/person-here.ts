/**
 * Refuses what changes something without an engine (a first configuration, an engine of one's own) when a program of a run starts it.
 * What goes to a running engine is refused there, where the caller cannot choose its environment.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../errors.ts'
import { markOf } from '../platform/mark.ts'
import type { ProcessIdentity } from '../platform/process.ts'
import { signsOf } from '../platform/started-by.ts'
import { markerName } from '../process/find.ts'
import { readRecord } from '../process/folder.ts'
import type { Client } from './engine/client.ts'
import type { Home } from './engine/home.ts'
import type { Io } from './io.ts'

const namesIn = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : [])

/** The run whose shim left an inherited mark. */
const runWithMark = (runs: string, mark: string): string | undefined =>
  namesIn(runs).find((run) =>
    ['launches', 'checks'].some((kind) =>
      namesIn(join(runs, run, kind)).some((number) => {
        const shim = readRecord<ProcessIdentity>(join(runs, run, kind, number), 'identity.json')
        return shim !== undefined && markOf(shim) === mark
      }),
    ),
  )

/** Only a run of this repository counts: the agent of another one may well use Unstuck here. */
const runHere = (io: Io, { stateDir }: Home): string | undefined => {
  const runs = join(stateDir, 'runs')
  // The system shows the environment of a process as it was when it started, so that of this one is asked directly.
  const signs = [{ marker: io.environment[markerName] }, ...signsOf(process.pid, markerName)]
  for (const sign of signs) {
    const id = /^r-[a-z0-9]+/.exec(sign.marker ?? '')?.[0]
    if (id !== undefined && existsSync(join(runs, id))) return id
    const marked = 'mark' in sign && sign.mark !== undefined ? runWithMark(runs, sign.mark) : undefined
    if (marked !== undefined) return marked
  }
  return undefined
}

/** Throws FROM_A_RUN, after the running engine was told, if a run of this repository has started this command. */
export const refuseRuns = async (
  io: Io,
  home: Home,
  door: string,
  findEngine: () => Promise<Client | undefined> = async () => undefined,
): Promise<void> => {
  const run = runHere(io, home)
  if (run === undefined) return
  const engine = await findEngine().catch(() => undefined) // the refusal itself counts; without an engine nobody can be told
  await engine?.post('/refusals', { door }).catch(() => undefined) // the same
  throw new AppError(
    'FROM_A_RUN',
    `only a person may do this (${door}), and it was started by the agent of run ${run}; nothing was changed. Do it in a terminal that no agent started`,
  )
}
