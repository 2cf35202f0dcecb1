/** No check begins while a process of the run is alive: it could mend the work, or break it, under the eyes of the check. */
import type { Evidence } from '../../recovery/evidence.ts'
import { signsOf } from '../agent/stop.ts'
import type { Session } from '../core/session.ts'

/** Ends what its agents left; what stays alive is the diagnosis. */
export const leftRunning = async (session: Session): Promise<Evidence | undefined> => {
  const processes = await session.context.ports.processes.endLeft(session.run.id, signsOf(session))
  return processes.length === 0 ? undefined : { kind: 'leftRunning', processes }
}
