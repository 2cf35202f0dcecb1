/**
 * A job of the leader, where the owner has traces sent: reads the events since the last call and sends a span of each thing that ended.
 * The position is stored after the collector has taken them, so neither a kill nor a collector that is away loses a span. What is sent
 * twice has the same ids.
 */
import { messageOf } from '../../errors.ts'
import type { TraceSpan } from '../../domain/trace-span.ts'
import { getEscalation } from '../../store/escalation.ts'
import { readEvents, type StoredEvent } from '../../store/event.ts'
import { getGoal } from '../../store/goal.ts'
import { eventsUpTo } from '../../store/goal-export.ts'
import { getMerge } from '../../store/merge.ts'
import { getRecovery, recoveriesOfRun } from '../../store/recovery.ts'
import { getRun } from '../../store/run.ts'
import { getTask } from '../../store/task.ts'
import { saveTracePosition, tracePosition } from '../../store/trace-position.ts'
import type { SpanSender } from '../../trace/send-spans.ts'
import type { Context } from '../core/context.ts'
import { endsPass } from '../core/pass.ts'
import {
  goalSpan,
  mergeSpan,
  questionSpan,
  recoverySpan,
  runEventTypes,
  runSpans,
  taskSpan,
  type EndedSpan,
} from './trace-spans.ts'

const pageSize = 200
const shortestWaitMs = 10_000
const longestWaitMs = 300_000

const idIn = ({ payload }: StoredEvent, name: string): string => {
  const id = payload[name]
  return typeof id === 'string' ? id : ''
}

const made = <T>(
  thing: T | undefined,
  event: StoredEvent,
  make: (thing: T, event: StoredEvent) => TraceSpan,
): TraceSpan[] => (thing === undefined ? [] : [make(thing, event)])

type Ending = (db: Context['db'], event: StoredEvent) => Promise<TraceSpan[]>

const goalEnded: Ending = async (db, event) => made(await getGoal(db, event.goalId ?? ''), event, goalSpan)
const taskEnded: Ending = async (db, event) => made(await getTask(db, event.taskId ?? ''), event, taskSpan)
const recoveryEnded: Ending = async (db, event) => made(await getRecovery(db, idIn(event, 'id')), event, recoverySpan)
const mergeEnded: Ending = async (db, event) => made(await getMerge(db, idIn(event, 'entry')), event, mergeSpan)
const questionEnded: Ending = async (db, event) =>
  made(await getEscalation(db, idIn(event, 'escalation')), event, questionSpan)

const endings: Readonly<Record<string, Ending>> = {
  ...{ 'goal.done': goalEnded, 'goal.failed': goalEnded, 'goal.cancelled': goalEnded },
  ...{ 'task.done': taskEnded, 'task.cancelled': taskEnded },
  recovery: recoveryEnded,
  ...{ 'merge.merged': mergeEnded, 'merge.failed': mergeEnded, 'merge.cancelled': mergeEnded },
  ...{ 'escalation.answered': questionEnded, 'escalation.expired': questionEnded },
}

const isOfRun = ({ type }: StoredEvent): boolean => (runEventTypes as readonly string[]).includes(type)

/** What ended in a run, by the event that ended it. */
const endedInRun = async ({ db, ports, environment }: Context, runId: string, upTo: number): Promise<EndedSpan[]> => {
  const run = await getRun(db, runId)
  if (run === undefined) return []
  const events = await eventsUpTo(db, { goalId: run.goalId, upTo, types: runEventTypes })
  return runSpans({
    run,
    events: events.filter((event) => event.runId === runId),
    recoveries: await recoveriesOfRun(db, runId),
    clean: (text) => ports.processes.redactText(text, environment),
  })
}

/** The spans of everything that one of these events ended. */
export const spansOf = async (context: Context, events: readonly StoredEvent[]): Promise<TraceSpan[]> => {
  const upTo = events.at(-1)?.id ?? 0
  const ids = new Set(events.map(({ id }) => id))
  const spans: TraceSpan[] = []
  const runs = new Set(events.filter(isOfRun).flatMap(({ runId }) => runId ?? []))
  for (const runId of runs)
    for (const { span, eventId } of await endedInRun(context, runId, upTo)) if (ids.has(eventId)) spans.push(span)
  for (const event of events) spans.push(...((await endings[event.type]?.(context.db, event)) ?? []))
  return spans
}

/** Sends page by page. The problem, if the collector did not take one: it is sent again later. */
const sendNew = async (context: Context, sender: SpanSender): Promise<string | undefined> => {
  const { db, stopping } = context
  let refused: string | undefined
  for (let after = await tracePosition(db); !stopping.aborted;) {
    const events = await readEvents(db, { after, limit: pageSize })
    const spans = await spansOf(context, events)
    const sent = spans.length === 0 ? { ok: true as const } : await sender.send(spans, stopping)
    if (!sent.ok && !sent.isRefused) return sent.problem
    if (!sent.ok) refused = sent.problem
    after = events.at(-1)?.id ?? after
    if (events.length > 0) await saveTracePosition(db, after)
    if (events.length < pageSize) break
  }
  return refused
}

/** One warning for the life of the engine: a collector that is away for a night must not fill the log. */
const createReport = () => {
  let isTold = false
  return ({ log, ports, environment, stopping }: Context, endpoint: string, problem: string): void => {
    if (isTold || stopping.aborted) return
    isTold = true
    log.warn(
      { endpoint: ports.traces.shownEndpoint(endpoint), problem: ports.processes.redactText(problem, environment) },
      'traces could not be sent, and are sent again later; check OTEL_EXPORTER_OTLP_ENDPOINT (port 4318, OTLP over HTTP), or unset it and restart the engine (unstuck stop, then unstuck up)',
    )
  }
}

/** Does nothing, and loads nothing, where the environment names no endpoint. */
export const createTraceJob = (): ((context: Context) => Promise<void>) => {
  let opened: Promise<SpanSender> | undefined
  let dueAt = Number.NEGATIVE_INFINITY
  let waitMs = shortestWaitMs
  const report = createReport()
  const failed = (context: Context, endpoint: string, problem: string): void => {
    report(context, endpoint, problem)
    dueAt = context.clock.elapsed() + waitMs
    waitMs = Math.min(longestWaitMs, waitMs * 2)
  }
  return async (context) => {
    const { clock, environment, ports, repository } = context
    const endpoint = ports.traces.traceEndpoint(environment)
    if (endpoint === null || clock.elapsed() < dueAt) return
    try {
      opened ??= ports.traces.openSpanSender(endpoint, repository.id)
      const problem = await sendNew(context, await opened)
      if (problem === undefined) waitMs = shortestWaitMs
      else failed(context, endpoint, problem)
    } catch (error) {
      if (endsPass(context, error)) throw error
      failed(context, endpoint, messageOf(error))
    }
  }
}
