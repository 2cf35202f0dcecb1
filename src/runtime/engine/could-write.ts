/**
 * Whether a program that an agent chose could have written the owner's files. Agents without a sandbox could, and so could the checks of
 * any work: they run what agents wrote. Only a sandboxed agent could not, and only while nothing of its run but the agent runs.
 */
import { isSandboxed, type Run } from '../../domain/run.ts'
import { listEngines } from '../../store/engine.ts'
import { isMergedWorkChecked } from '../../store/goal.ts'
import { runsSince } from '../../store/run.ts'
import type { Queryable } from '../../store/db.ts'

/** The runs of the engines on this host. The name of an agent is that of its engine with a number. */
export const runsHere = async (db: Queryable, host: string, since?: Date): Promise<Run[]> => {
  const engines = (await listEngines(db)).filter((engine) => engine.host === host).map(({ id }) => id)
  return (await runsSince(db, since)).filter(({ agentId }) => engines.includes(agentId.replace(/-\d+$/, '')))
}

/** `since`: when the files were last read. A run that has ended since then could have written them as well. */
export const couldWrite = async (db: Queryable, host: string, since?: Date): Promise<boolean> =>
  (await runsHere(db, host, since)).some((run) => !isSandboxed(run)) || (await isMergedWorkChecked(db))
