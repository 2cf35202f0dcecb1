/** What happened to a task on one axis of time, from its events: attempts, launches, checks, recoveries, waits, questions, merges. Pure. */
import { actionText, type EventView } from '../../src/api/contract.ts'
import { spanText } from './clock.ts'
import { linkTo } from './route.ts'
import { capitalised, words } from './text.ts'

export const timelineLanes = ['Attempts', 'Agent', 'Checks', 'Recoveries', 'Waits', 'Questions', 'Merging'] as const
export type TimelineLane = (typeof timelineLanes)[number]

export interface Bar {
  lane: TimelineLane
  /** Milliseconds since 1970. */
  from: number
  /** Undefined = it lasts. */
  to: number | undefined
  tone: 'good' | 'bad' | 'warn' | 'busy' | 'quiet'
  /** What a person reads, without its time. */
  label: string
  href: string | undefined
}

type Ending = Pick<Bar, 'tone' | 'label'>

const textIn = ({ payload }: EventView, key: string): string => {
  const value = payload[key]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/** Why a task waits, by the state it went into. */
const waits: Record<string, string> = {
  queued: 'in the queue',
  failed: 'for the next attempt',
  'blocked(quota_wait)': 'for the limit of the account to reset',
  'blocked(awaiting_judge)': 'for its review and the merge',
  'blocked(awaiting_human)': 'for you',
  'blocked(needs_rework)': 'for work that corrects it',
  'blocked(conflict)': 'for its conflict to be solved',
  'blocked(issue_linking)': 'for an issue to be linked',
}

const waitText = (state: string): string => `Waits ${waits[state] ?? words(state.replace(/^blocked\((.*)\)$/, '$1'))}`

interface Timeline {
  bars: Bar[]
  open: Map<string, Bar>
}

const at = (event: EventView): number => Date.parse(event.at)

const begin = ({ bars, open }: Timeline, key: string, bar: Omit<Bar, 'to'>): void => {
  const begun: Bar = { ...bar, to: undefined }
  bars.push(begun)
  open.set(key, begun)
}

const end = ({ open }: Timeline, key: string, event: EventView, ending: Partial<Ending> = {}): void => {
  const bar = open.get(key)
  if (bar === undefined) return
  Object.assign(bar, ending, { to: at(event) })
  open.delete(key)
}

const runEnds: Record<string, { word: string; tone: Bar['tone'] }> = {
  'run.succeeded': { word: 'succeeded', tone: 'good' },
  'run.failed': { word: 'failed', tone: 'bad' },
  'run.cancelled': { word: 'was stopped', tone: 'warn' },
}

const runEvent = (timeline: Timeline, event: EventView): void => {
  const { runId, type } = event
  const key = `run ${runId}`
  if (type === 'run.started' && runId !== null)
    begin(timeline, key, {
      ...{ lane: 'Attempts', from: at(event), tone: 'busy', label: `Run ${textIn(event, 'number')}` },
      href: linkTo.run(runId),
    })
  const ended = runEnds[type]
  const bar = timeline.open.get(key)
  if (ended === undefined || bar === undefined) return
  end(timeline, key, event, { tone: ended.tone, label: `${bar.label} ${ended.word}` })
  end(timeline, `launch ${runId}`, event)
  end(timeline, `phase ${runId}`, event, { tone: ended.tone })
}

const phases: Record<string, Pick<Bar, 'lane' | 'label'>> = {
  verify: { lane: 'Checks', label: 'Its work is checked' },
}

/** The agent works from its launch until its changes are collected; the phases that take no time have no bar. */
const phaseEvent = (timeline: Timeline, event: EventView): void => {
  const { runId, type } = event
  if (runId === null) return
  if (type === 'run.launched')
    begin(timeline, `launch ${runId}`, {
      ...{ lane: 'Agent', from: at(event), tone: 'busy', href: linkTo.log(runId) },
      label: `${capitalised(textIn(event, 'driver'))}, launch ${textIn(event, 'launch')}`,
    })
  if (type !== 'run.phase') return
  if (textIn(event, 'from') === 'supervise') end(timeline, `launch ${runId}`, event)
  // What follows a check tells whether it passed.
  end(timeline, `phase ${runId}`, event, { tone: textIn(event, 'to') === 'launch' ? 'bad' : 'good' })
  const phase = phases[textIn(event, 'to')]
  if (phase !== undefined)
    begin(timeline, `phase ${runId}`, { ...phase, from: at(event), tone: 'busy', href: linkTo.run(runId) })
}

const recoveryEvent = (timeline: Timeline, event: EventView): void => {
  const { type, payload, runId } = event
  const { action } = payload
  const isAction = typeof action === 'object' && action !== null && 'type' in action && 'name' in action
  if (type === 'recovery.started' && isAction)
    begin(timeline, `recovery ${textIn(event, 'recovery')}`, {
      ...{ lane: 'Recoveries', from: at(event), tone: 'busy' },
      label: capitalised(actionText(action as Parameters<typeof actionText>[0])),
      href: runId === null ? undefined : linkTo.run(runId),
    })
  if (type !== 'recovery') return
  const helped = textIn(event, 'status') === 'success'
  const key = `recovery ${textIn(event, 'id')}`
  const label = timeline.open.get(key)?.label ?? ''
  end(timeline, key, event, {
    tone: helped ? 'good' : 'bad',
    label: `${label}: ${helped ? 'it helped' : 'it did not help'}`,
  })
}

const questionEvent = (timeline: Timeline, event: EventView): void => {
  const key = `question ${textIn(event, 'escalation') || textIn(event, 'id')}`
  const id = textIn(event, 'escalation')
  if (event.type === 'escalation.opened')
    begin(timeline, key, {
      ...{ lane: 'Questions', from: at(event), tone: 'warn', label: 'A question for you' },
      href: id === '' ? linkTo.inbox : linkTo.question(id),
    })
  if (event.type === 'escalation.answered')
    end(timeline, key, event, { tone: 'good', label: 'A question that you answered' })
  if (event.type === 'escalation.expired')
    end(timeline, key, event, { tone: 'quiet', label: 'A question that no longer applies' })
}

const mergeEnds: Record<string, Ending> = {
  'merge.merged': { tone: 'good', label: 'Merged into the goal branch' },
  'merge.failed': { tone: 'bad', label: 'It could not be merged' },
  'merge.cancelled': { tone: 'quiet', label: 'Its merge was given up' },
}

const mergeEvent = (timeline: Timeline, event: EventView): void => {
  const key = `merge ${textIn(event, 'entry')}`
  if (event.type === 'merge.enqueued')
    begin(timeline, key, {
      ...{ lane: 'Merging', from: at(event), tone: 'busy', label: 'In the merge queue' },
      href: event.runId === null ? undefined : linkTo.diff(event.runId),
    })
  const ended = mergeEnds[event.type]
  if (ended !== undefined) end(timeline, key, event, ended)
}

/** A task is in one state at a time; a wait is every state but those in which it works or has ended. */
const stateEvent = (timeline: Timeline, event: EventView): void => {
  const to = event.type === 'task.created' ? 'queued' : textIn(event, 'to')
  if (!event.type.startsWith('task.') || to === '') return
  end(timeline, 'wait', event)
  if (to === 'running' || to === 'done' || to === 'cancelled') return
  begin(timeline, 'wait', {
    ...{ lane: 'Waits', from: at(event), label: waitText(to) },
    ...{ tone: to === 'blocked(awaiting_human)' ? 'warn' : 'quiet', href: undefined },
  })
}

/** The bars in the order of their beginning. A wait that is too short to matter is left out. */
export const barsOf = (events: readonly EventView[], shortestWaitMs = 1_000): Bar[] => {
  const timeline: Timeline = { bars: [], open: new Map() }
  for (const event of events)
    for (const note of [stateEvent, runEvent, phaseEvent, recoveryEvent, questionEvent, mergeEvent])
      note(timeline, event)
  return timeline.bars.filter(
    ({ lane, from, to }) => lane !== 'Waits' || to === undefined || to - from >= shortestWaitMs,
  )
}

/** A piece of the axis: its time, and its share of the width in percent. */
interface Piece {
  from: number
  to: number
  left: number
  width: number
}

export interface Axis {
  pieces: Piece[]
  /** A wait in which nothing happens is drawn shorter than it was. */
  shortened: boolean
}

type Interval = Pick<Piece, 'from' | 'to'>

const isWait = ({ lane }: Bar): boolean => lane === 'Waits' || lane === 'Questions'

/** The intervals as few as possible, in order. */
const joined = (intervals: readonly Interval[]): Interval[] => {
  const all: Interval[] = []
  for (const { from, to } of intervals.toSorted((a, b) => a.from - b.from)) {
    const last = all.at(-1)
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
    else all.push({ from, to })
  }
  return all
}

/** No wait takes more than this part of what all work takes. */
const longestWait = 0.25

/** From the first bar to the last, or to now while something lasts. */
export const axisOf = (bars: readonly Bar[], now: number): Axis => {
  const from = Math.min(...bars.map((bar) => bar.from))
  const to = Math.max(from + 1_000, ...bars.map((bar) => bar.to ?? now))
  const work = joined(bars.filter((bar) => !isWait(bar)).map((bar) => ({ from: bar.from, to: bar.to ?? now })))
  const worked = work.reduce((sum, piece) => sum + piece.to - piece.from, 0)
  const most = worked === 0 ? Infinity : Math.max(1_000, worked * longestWait)
  const edges = [from, ...work.flatMap((piece) => [piece.from, piece.to]), to]
  // Work and waits alternate; the first and the last piece are waits, and may be empty.
  const spans = edges.slice(1).map((end, index) => ({ from: edges[index] ?? from, to: end, wait: index % 2 === 0 }))
  const weights = spans.map((span) => Math.min(span.to - span.from, span.wait ? most : Infinity))
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  let left = 0
  const pieces = spans.map((span, index) => {
    const width = ((weights[index] ?? 0) / whole) * 100
    const piece = { from: span.from, to: span.to, left, width }
    left += width
    return piece
  })
  return { pieces, shortened: spans.some((span) => span.wait && span.to - span.from > most) }
}

/** Where a time is on the axis, in percent. */
const positionOf = ({ pieces }: Axis, time: number): number => {
  const piece = pieces.find(({ to, width }) => time <= to && width > 0) ?? pieces.at(-1)
  if (piece === undefined || piece.to === piece.from) return 0
  return piece.left + (Math.max(0, time - piece.from) / (piece.to - piece.from)) * piece.width
}

export const placeOf = (
  { from, to }: Pick<Bar, 'from' | 'to'>,
  axis: Axis,
  now: number,
): Pick<Piece, 'left' | 'width'> => {
  const left = positionOf(axis, from)
  return { left, width: positionOf(axis, to ?? now) - left }
}

/** Times to mark, at equal distances. */
export const ticksOf = ({ pieces }: Axis, count: number): { left: number; at: number }[] =>
  Array.from({ length: count }, (_, index) => {
    const left = (index / count) * 100
    const piece = pieces.findLast((one) => one.left <= left && one.width > 0)
    const share = piece === undefined ? 0 : (left - piece.left) / piece.width
    return { left, at: piece === undefined ? 0 : piece.from + share * (piece.to - piece.from) }
  })

export const lastedText = ({ from, to }: Bar, now: number): string => spanText((to ?? now) - from)
