/** No check starts while a process of the run is alive: it could repair or break the work while the check runs. */
import type { Evidence } from '../../recovery/evidence.ts'
import { runSigns } from '../agent/stop-agent.ts'
import type { RunContext } from '../core/run-context.ts'

/** Ends processes that the run's agents left behind. Evidence of those that cannot be ended, or undefined. */
export const endLeftRunning = async (runContext: RunContext): Promise<Evidence | undefined> => {
  const processes = await runContext.context.ports.processes.endLeft(runContext.run.id, runSigns(runContext))
  return processes.length === 0 ? undefined : { kind: 'leftRunning', processes }
}
