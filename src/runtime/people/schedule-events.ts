/** Events of schedules: their meaning and their sentence. */
import { payloadText, type EventTypes, type Payload } from './event-text.ts'

const named = (p: Payload): string => `the schedule "${payloadText(p, 'title')}" (${payloadText(p, 'schedule')})`

const whenText = (p: Payload): string =>
  p.trigger === undefined
    ? `${payloadText(p, 'cron')} (${payloadText(p, 'timeZone')}), first at ${payloadText(p, 'nextAt')}`
    : `on ${payloadText(p, 'trigger')}`

export const scheduleEvents: EventTypes = {
  'schedule.added': {
    meaning: 'a person added a schedule, which begins a goal at times of a cron expression, or on a trigger',
    sentence: (p) => `${named(p)} was added: ${whenText(p)}`,
  },
  'schedule.started': {
    meaning:
      'the time or the trigger of a schedule had come, and its goal began; of several that were missed only once',
    sentence: (p) =>
      `begun by ${named(p)}, ${p.trigger === undefined ? `due at ${payloadText(p, 'due')}` : `${payloadText(p, 'trigger')} at ${payloadText(p, 'commit')}`}`,
  },
  'schedule.skipped': {
    meaning: 'the time or the trigger of a schedule had come, and its goal before was not over, so none began',
    sentence: (p) => `${named(p)} began no goal: ${payloadText(p, 'reason')}`,
  },
  'schedule.failed': {
    meaning: 'the time or the trigger of a schedule had come, and no goal could begin; recorded once for each reason',
    sentence: (p) => `${named(p)} began no goal: ${payloadText(p, 'reason')}`,
  },
  'schedule.removed': {
    meaning: 'a person removed a schedule; the goals that it began go on',
    sentence: (p) => `${named(p)} was removed`,
  },
}
