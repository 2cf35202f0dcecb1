/** How the payload of an event becomes words. Pure. */

export type Payload = Record<string, unknown>

export const text = (payload: Payload, key: string): string => {
  const value = payload[key]
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What each type of event means, and its sentence for someone who was asleep. */
export type EventTypes = Record<string, { meaning: string; sentence: (payload: Payload) => string }>
