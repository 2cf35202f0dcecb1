/** The story of a task, run or goal for a reader who did not watch: one line per event. Pure. */
import type { StoredEvent } from '../../store/event.ts'
import { eventTypes, sentenceOf } from './event-sentences.ts'
import { payloadText } from './event-text.ts'

/** The story omits these: they say how the machine works, not what it decided. */
const omitted = new Set(['run.phase', 'agent.registered'])

/** Events whose content the question of the same task repeats in better words. A list of events shows only the question. */
export const repeatedByQuestion: readonly string[] = ['task.escalated', 'task.recovery_escalated', 'blocker']

/** The ladder's reason is in no question, because it names playbooks; the story is where a person looks for it. */
const ladderReason = ({ type, payload }: StoredEvent): string | undefined =>
  type === 'task.escalated' && payloadText(payload, 'label') !== '' && payloadText(payload, 'reason') !== ''
    ? `no recovery is left for ${payloadText(payload, 'label')}: ${payloadText(payload, 'reason')}`
    : undefined

/** The sentence, followed by the names under which Unstuck stores it: a reader of the story may look them up in the docs. */
const storyLine = (event: StoredEvent): string => {
  const technical = eventTypes[event.type]?.technical?.(event.payload) ?? ''
  return `${sentenceOf(event)}${technical === '' ? '' : ` [${technical}]`}`
}

/** By task: what stands before its lines where the story is about several tasks. */
const taskPrefixes = (events: readonly StoredEvent[]): Map<string | null, string> => {
  const created = events.filter(({ type }) => type === 'task.created')
  if (created.length < 2) return new Map()
  return new Map(created.map(({ taskId, payload }) => [taskId, `task ${payloadText(payload, 'number')}: `]))
}

/** One line per event, oldest first; `at` is ISO. */
export const storyOf = (events: readonly StoredEvent[]): { at: string; text: string }[] => {
  const prefixes = taskPrefixes(events)
  const asked = new Set(events.filter(({ type }) => type === 'escalation.opened').map(({ taskId }) => taskId))
  return events.flatMap((event) => {
    if (omitted.has(event.type)) return []
    const isRepeated = repeatedByQuestion.includes(event.type) && asked.has(event.taskId)
    const said = isRepeated ? ladderReason(event) : storyLine(event)
    // This event names its task itself.
    const prefix = event.type === 'task.created' ? '' : (prefixes.get(event.taskId) ?? '')
    return said === undefined ? [] : [{ at: event.at.toISOString(), text: `${prefix}${said}` }]
  })
}
