/** Events of schedules: their meaning and their sentence. */
import { payloadText, type EventTypes, type Payload } from './event-text.ts'

const named = (p: Payload): string => `the schedule "${payloadText(p, 'title')}" (${payloadText(p, 'schedule')})`

export const scheduleEvents: EventTypes = {
  'schedule.added': {
    meaning: 'a person added a schedule, which begins a goal at times of a cron expression',
    sentence: (p) =>
      `${named(p)} was added: ${payloadText(p, 'cron')} (${payloadText(p, 'timeZone')}), first at ${payloadText(p, 'nextAt')}`,
  },
  'schedule.started': {
    meaning: 'the time of a schedule had come, and its goal began; of several times that were missed only once',
    sentence: (p) => `begun by ${named(p)}, due at ${payloadText(p, 'due')}`,
  },
  'schedule.skipped': {
    meaning: 'the time of a schedule had come, and its goal before was not over, so none began',
    sentence: (p) => `${named(p)} began no goal: ${payloadText(p, 'reason')}`,
  },
  'schedule.failed': {
    meaning: 'the time of a schedule had come, and no goal could begin; recorded once for each reason',
    sentence: (p) => `${named(p)} began no goal: ${payloadText(p, 'reason')}`,
  },
  'schedule.removed': {
    meaning: 'a person removed a schedule; the goals that it began go on',
    sentence: (p) => `${named(p)} was removed`,
  },
}
