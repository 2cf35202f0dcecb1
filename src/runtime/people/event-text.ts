/** How the payload of an event becomes words. Pure. */

export type Payload = Record<string, unknown>

export const text = (payload: Payload, key: string): string => {
  const value = payload[key]
  if (value === undefined || value === null) return ''
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join('; ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const movedText = ({ ref, before, after, restored }: Record<string, unknown>): string => {
  const short = (commit: unknown): string => (typeof commit === 'string' ? commit.slice(0, 12) : 'nothing')
  return `${String(ref)} (${short(before)} → ${short(after)}${restored === true ? ', put back' : ''})`
}

/** What moved while an agent ran. */
export const movedRefs = ({ refs, more }: Payload): string => {
  const moved = ((refs ?? []) as Record<string, unknown>[]).map(movedText)
  return [...moved, ...(typeof more === 'number' && more > 0 ? [`and ${more} more`] : [])].join('; ')
}

/** What each type of event means, and its sentence for someone who was asleep. */
export type EventTypes = Record<string, { meaning: string; sentence: (payload: Payload) => string }>
