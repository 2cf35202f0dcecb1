/** The events about what only the owner decides. */
import { payloadText, type EventTypes } from './event-text.ts'

export const ownerEvents: EventTypes = {
  'person_only.refused': {
    meaning: 'a program that an agent started asked for what only a person may do; it was refused',
    sentence: (p) =>
      `the agent tried what only a person may do: ${payloadText(p, 'program')} asked for ${payloadText(p, 'door')} and was refused`,
  },
}
