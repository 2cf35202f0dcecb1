/** The events of what an agent and a person tell each other while it works. */
import { payloadText, type EventTypes } from './event-text.ts'

export const conversationEvents: EventTypes = {
  'run.progress': {
    meaning: 'what an agent reports about its progress, in its own words',
    sentence: (p) => `the agent reports: ${payloadText(p, 'text')}`,
  },
  'run.answer_read': {
    meaning: 'an agent got the answer of a person to its question',
    sentence: (p) => `the agent read the answer: ${payloadText(p, 'answer')}`,
  },
  'run.message_sent': {
    meaning: 'a person wrote to an agent at work; it is also a hint for later attempts',
    sentence: (p) => `${payloadText(p, 'by')} tells the agent: ${payloadText(p, 'text')}`,
  },
  'run.message_read': {
    meaning: 'an agent continues with what a person wrote',
    sentence: (p) =>
      p['resumed'] === true
        ? 'the agent was interrupted, and continues in its session with the message'
        : 'the agent was interrupted, and begins anew on its work with the message, because its session cannot be resumed',
  },
}
