/** How values in the payload of an event become words. Pure. */
import { readableTitle } from '../../domain/task-title.ts'

export type Payload = Record<string, unknown>

/** A value as text: '' for a missing one, a list of texts joined, anything else as JSON. */
export const payloadText = (payload: Payload, key: string): string => {
  const value = payload[key]
  if (value === undefined || value === null) return ''
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join('; ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export const payloadTitle = (payload: Payload): string => readableTitle(payloadText(payload, 'title'))

/** `1 run`, `2 runs`. */
export const counted = (payload: Payload, key: string, noun: string): string => {
  const value = payloadText(payload, key)
  return `${value} ${noun}${value === '1' ? '' : 's'}`
}

/** Two parts of a sentence, where the first may end as a sentence of its own. */
export const followedBy = (first: string, second: string): string =>
  `${first}${/[.!?]$/.test(first) ? ' ' : '; '}${second}`

/** A stored message without the label of its diagnosis in front. */
export const withoutLabel = (message: string): string => message.replace(/^[A-Za-z_]+: /, '')

const movedText = ({ ref, before, after, restored, why, kept, files }: Record<string, unknown>): string => {
  const short = (commit: unknown): string => (typeof commit === 'string' ? commit.slice(0, 12) : 'nothing')
  const more = [
    ...(typeof why === 'string' ? [why] : []),
    ...(restored === true
      ? [typeof kept === 'string' ? `restored; what was there is kept as ${kept}` : 'restored']
      : []),
    ...(typeof files === 'string' ? [files] : []),
  ]
  return `${String(ref)} (${[`${short(before)} → ${short(after)}`, ...more].join(', ')})`
}

/** The refs that changed while an agent ran, each with the commits before and after. */
export const movedRefs = ({ refs, more }: Payload): string => {
  const moved = ((refs ?? []) as Record<string, unknown>[]).map(movedText)
  return [...moved, ...(typeof more === 'number' && more > 0 ? [`and ${more} more`] : [])].join('; ')
}

/** By type of event: what it means (for docs/events.md) and its sentence in the story. */
export type EventTypes = Record<
  string,
  {
    meaning: string
    sentence: (payload: Payload) => string
    /** Internal names (label, playbook, entry) that only the story adds to the sentence. */
    technical?: (payload: Payload) => string
  }
>
