/** The events about notifications: what could not be delivered, and what a person answered with them. */
import { payloadText, type EventTypes } from './event-text.ts'

export const notificationEvents: EventTypes = {
  'notification.given_up': {
    meaning: 'a notification could not be delivered over a channel, and is not tried again',
    sentence: (p) =>
      `a notification (${payloadText(p, 'kind')}) could not be delivered over ${payloadText(p, 'channel')}, and is not tried again: ${payloadText(p, 'problem')}`,
    technical: (p) => payloadText(p, 'notification'),
  },
  'notification.retried': {
    meaning: 'a person had a notification sent again that was given up',
    sentence: (p) => `a person had a notification sent over ${payloadText(p, 'channel')} again`,
    technical: (p) => payloadText(p, 'notification'),
  },
  'notification.button_pressed': {
    meaning: 'a button of a notification was pressed; `refused` says why it answered nothing',
    sentence: (p) => {
      const pressed = `the button "${payloadText(p, 'choice')}" of a notification was pressed`
      const refused = payloadText(p, 'refused')
      return refused === '' ? `${pressed}, and answered the question` : `${pressed} without effect: ${refused}`
    },
    technical: (p) => `question ${payloadText(p, 'escalation')}`,
  },
  'notification.link_used': {
    meaning: 'the link of a notification answered a question',
    sentence: (p) => `the link of a notification answered the question: ${payloadText(p, 'choice')}`,
    technical: (p) => `question ${payloadText(p, 'escalation')}`,
  },
}
