/** An event in the shape of the API. */
import type { StoredEvent } from '../store/event.ts'

/** A recovery event takes the id of its recovery; `seq` keeps the number of the event, after which a stream resumes. */
export const eventView = (event: StoredEvent) => {
  const own = event.type === 'recovery' ? event.payload['id'] : undefined
  return { ...event, seq: event.id, id: typeof own === 'string' ? own : event.id, timestamp: event.at }
}
