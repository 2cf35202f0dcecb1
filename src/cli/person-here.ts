/**
 * Refuses what changes something without an engine (a first configuration, an engine of one's own) when a program of a run starts it.
 * What goes to a running engine is refused there, where the caller cannot choose its environment. Both refuse the programs of every run,
 * whichever repository it belongs to.
 */
import { AppError } from '../errors.ts'
import { signsOf } from '../platform/started-by.ts'
import { markerName, runIdIn } from '../process/find.ts'
import type { Client } from './engine/client.ts'
import type { Io } from './io.ts'

/** Who started this command; undefined = no sign of an agent. */
const agentHere = (io: Io): string | undefined => {
  // The system shows the environment of a process as it was when it started, so that of this one is asked directly.
  const own = io.environment[markerName]
  const signs = [...(own === undefined ? [] : [{ marker: own }]), ...signsOf(process.pid, markerName)]
  if (signs.length === 0) return undefined
  const run = signs.map(({ marker }) => runIdIn(marker)).find((id) => id !== undefined)
  return run === undefined ? 'an agent' : `the agent of run ${run}`
}

/** Throws FROM_A_RUN, after it was reported to the running engine, if a run has started this command. */
export const refuseRuns = async (
  io: Io,
  action: string,
  findEngine: () => Promise<Client | undefined> = async () => undefined,
): Promise<void> => {
  const agent = agentHere(io)
  if (agent === undefined) return
  const engine = await findEngine().catch(() => undefined) // the refusal itself counts; without an engine it is not recorded
  await engine?.post('/refusals', { action }).catch(() => undefined) // the same
  throw new AppError(
    'FROM_A_RUN',
    `only a person may do this (${action}), and it was started by ${agent}; nothing was changed. Do it in a terminal that no agent started`,
  )
}
