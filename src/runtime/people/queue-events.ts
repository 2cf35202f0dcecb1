/** The events about the judge's switch, links, runs that are out of time, and anomalies of the whole. */
import { visibleText } from '../../visible-text.ts'
import { payloadText, type EventTypes, type Payload } from './event-text.ts'

const anomaly = (meaning: string): EventTypes[string] => ({ meaning, sentence: (p) => payloadText(p, 'detail') })

const named = 5

const renamedText = ({ carried }: Payload): string => {
  const all = (carried ?? []) as { from: string; to: string }[]
  const more = all.length > named ? ` and ${all.length - named} more` : ''
  return `${all
    .slice(0, named)
    .map(({ from, to }) => `${visibleText(to)}, which was ${visibleText(from)}`)
    .join('; ')}${more}`
}

export const queueEvents: EventTypes = {
  'task.link_awaited': {
    meaning: 'a queued task waits until its owner links something, such as an issue',
    sentence: (p) => `waits for ${payloadText(p, 'waitsFor')}, as ${payloadText(p, 'by')} asked`,
  },
  'task.linked': {
    meaning: 'the owner of a task linked what it waited for; the task is queued',
    sentence: (p) => `${payloadText(p, 'issue')} was linked by ${payloadText(p, 'by')}; the task is queued`,
  },
  'task.paths_carried': {
    meaning: 'files that a task may change were renamed since it was made; it may change them where they are now',
    sentence: (p) => `may also change ${renamedText(p)}`,
  },
  'run.timeout': {
    meaning: 'a run without progress was ended beyond its time limit',
    sentence: (p) => `ended: ${payloadText(p, 'evidence')}`,
  },
  'system.runtime_hatch_armed': {
    meaning: 'the judge works from now on: work waits for it, or a person switched it on',
    sentence: (p) =>
      payloadText(p, 'by') === 'backlog'
        ? 'work waits for its review, so the judge was started'
        : `the judge was switched on by ${payloadText(p, 'by')}`,
  },
  'system.runtime_hatch_disarmed': {
    meaning: 'a person switched the judge off; no review begins and no verdict counts until it is switched on',
    sentence: (p) => `the judge was switched off by ${payloadText(p, 'by')}`,
  },
  'anomaly.mass_death': anomaly('many runs lost their agent or engine within a few minutes'),
  'anomaly.retry_storm': anomaly('many runs failed within a few minutes, and none succeeded'),
  'anomaly.no_progress': anomaly('no run succeeded and nothing was merged for an hour, although there is work'),
  'anomaly.cleared': {
    meaning: 'an anomaly is over',
    sentence: (p) => `over: ${payloadText(p, 'anomaly').replaceAll('_', ' ')}`,
  },
}
