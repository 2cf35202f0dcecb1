/** Events of a task that is worked on in iterations: their meaning and their sentence. */
import { turnText, type LoopState } from '../../domain/loop.ts'
import { payloadText, type EventTypes, type Payload } from './event-text.ts'

const turnOf = (payload: Payload): string => {
  const { iteration = 1, limit = iteration, role = 'planner' } = payload as Partial<LoopState>
  return turnText({ iteration, limit, role })
}

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === 'string') : []

const putBackText = (payload: Payload): string => {
  const [paths, reports] = [textsOf(payload.paths), textsOf(payload.reports).map((name) => `the report ${name}`)]
  return `the ${payloadText(payload, 'role')} changed what its role may not change; restored: ${[...paths, ...reports].join(', ')}`
}

interface ShownGate {
  name: string
  holds: boolean
  detail: string
}

const openGates = ({ gates }: Payload): string =>
  (Array.isArray(gates) ? (gates as ShownGate[]) : [])
    .filter(({ holds }) => !holds)
    .map(({ name, detail }) => `${name} (${detail})`)
    .join('; ')

const endings: Record<string, string> = {
  land: 'the reviewer promised that the work is complete, and every gate holds',
  next: 'the next iteration follows',
  stuck: 'the last iterations ended in the same way, so a person is asked',
  limit: 'no iteration is left, so a person is asked',
}

const endedText = (payload: Payload): string => {
  const end = endings[payloadText(payload, 'end')] ?? payloadText(payload, 'end')
  const open = openGates(payload)
  return `iteration ${payloadText(payload, 'iteration')} ended: ${end}${open === '' ? '' : `. Open: ${open}`}`
}

export const loopEvents: EventTypes = {
  'loop.turn_started': {
    meaning: 'a turn of a loop begins: its iteration, its role and the harness of the role',
    sentence: (p) => `${turnOf(p)}, with ${payloadText(p, 'harness')}`,
  },
  'loop.tests_finished': {
    meaning: 'the checks of an iteration ran, before the turn of its tester',
    sentence: (p) => `the checks of iteration ${payloadText(p, 'iteration')}: ${payloadText(p, 'text')}`,
    technical: (p) => payloadText(p, 'signature'),
  },
  'loop.changes_put_back': {
    meaning:
      'a role of a loop changed files or reports that it may not change, and they are restored; a snapshot keeps the files',
    sentence: putBackText,
  },
  'loop.iteration_ended': {
    meaning: 'an iteration of a loop ended, with its gates',
    sentence: endedText,
    technical: (p) => payloadText(p, 'signature'),
  },
}
