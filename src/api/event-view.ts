/** Events as the API tells them. */
import type { StoredEvent } from '../store/event.ts'
import type { EventView } from './contract.ts'

export const eventView = (event: StoredEvent): EventView => {
  const own = event.type === 'recovery' ? event.payload['id'] : undefined
  return { ...event, seq: event.id, id: typeof own === 'string' ? own : event.id, timestamp: event.at }
}
