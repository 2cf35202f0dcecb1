/** The events about what only the owner decides. */
import { payloadText, type EventTypes } from './event-text.ts'

export const ownerEvents: EventTypes = {
  'person_only.refused': {
    meaning:
      'a program that an agent started asked for what only a person may do, and was refused; so was one that hung up before it could be told from an agent',
    sentence: (p) =>
      `${payloadText(p, 'program')}${p.hungUp === true ? '' : ', started by the agent,'} asked for ${payloadText(p, 'door')}, which only a person may do, and was refused`,
  },
}
