/**
 * Refuses commands that change something without an engine (a first configuration, an engine with settings of its own) when a program
 * of a run starts them. What goes through the engine is refused there, where the caller cannot choose its environment.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../errors.ts'
import { signsOf } from '../platform/started-by.ts'
import { markerName } from '../process/find.ts'
import type { Io } from './io.ts'

/** Commands that change something before they have asked an engine. */
const withoutEngine = new Set(['run', 'init', 'up', 'worker', 'engine'])

/** Ids of runs as the store gives them; anything else is not looked up as a folder. */
const isRun = (marker: string | undefined): marker is string => /^r-[a-z0-9]+$/.test(marker ?? '')

/** The system shows the environment of a process as it was when it started, so that of this one is asked directly. */
const markersHere = (io: Io): string[] =>
  [io.environment[markerName], ...signsOf(process.pid, markerName).map(({ marker }) => marker)].filter(isRun)

/** Only a run of this repository counts: an agent that develops Unstuck itself may use another one. */
export const checkPersonHere = async (io: Io, command: string): Promise<void> => {
  if (!withoutEngine.has(command)) return
  const markers = markersHere(io)
  if (markers.length === 0) return
  const { homeOf } = await import('./engine/home.ts')
  const { stateDir } = await homeOf(io)
  const run = markers.find((marker) => existsSync(join(stateDir, 'runs', marker)))
  if (run !== undefined)
    throw new AppError(
      'FROM_A_RUN',
      `only a person may do this ("unstuck ${command}"), and it was started by the agent of run ${run}; nothing was changed. Do it in a terminal of your own`,
    )
}
