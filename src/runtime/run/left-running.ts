/** No check starts while a process of the run is alive: it could repair or break the work while the check runs. */
import type { Evidence } from '../../recovery/evidence.ts'
import { signsOf } from '../agent/stop.ts'
import type { Session } from '../core/session.ts'

/** Ends processes that the run's agents left behind. Evidence of those that cannot be ended, or undefined. */
export const leftRunning = async (session: Session): Promise<Evidence | undefined> => {
  const processes = await session.context.ports.processes.endLeft(session.run.id, signsOf(session))
  return processes.length === 0 ? undefined : { kind: 'leftRunning', processes }
}
