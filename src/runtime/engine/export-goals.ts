/**
 * A job of the leader: writes state, question, events and usage of each goal into `.unstuck/loops/<goal>/` of the owner's checkout. Every file
 * is replaced in one step and its digest stored afterwards. So a crash at any moment leaves whole files, and a file that is not the one
 * written last (killed in between, damaged, removed) is made again from the stored events.
 */
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { goalExports } from '../../domain/export-folder.ts'
import {
  countRecoveryEvent,
  metricEventTypes,
  noRecoveries,
  proposalKinds,
  recoveryMetrics,
  type RecoveryTally,
} from '../../domain/recovery-metrics.ts'
import { messageOf } from '../../errors.ts'
import { listEscalations } from '../../store/escalation.ts'
import { readEvents, type StoredEvent } from '../../store/event.ts'
import { getGoal } from '../../store/goal.ts'
import {
  endedRuns,
  escalationReason,
  eventsUpTo,
  getGoalExport,
  goalsToExport,
  goalsWithEventsAfter,
  goalProgress,
  iterationOf,
  saveGoalExport,
  type GoalExport,
} from '../../store/goal-export.ts'
import { getProposal } from '../../store/recovery-proposal.ts'
import type { Context, Logger } from '../core/context.ts'
import { readIfFile } from '../core/files.ts'
import { ignoreAllIn, isOwnPlace, replaceFile } from '../core/owner-export.ts'
import type { Leadership } from './leadership.ts'
import {
  escalationText,
  eventLine,
  metricsLine,
  proposalIn,
  shownQuestion,
  stateText,
  usageLine,
  type ExportedQuestion,
} from './export-texts.ts'

/** Only the owner may read the files: they contain what agents and checks printed. */
const fileMode = 0o600

/** An export waits this many times as long as the last one took: the files of a very large goal are written less often. */
const waitPerWork = 10

/** Milliseconds after which the files of all live goals are compared with what was written. */
const compareEveryMs = 60_000

const pageSize = 1_000

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

interface Texts {
  events: string
  usage: string
  /** The last event that they contain. */
  eventId: number
}

/** What the proposals of the goal had come to after this event. */
const tallyUpTo = async ({ db }: Context, goalId: string, upTo: number): Promise<RecoveryTally> => {
  const tally = noRecoveries()
  if (upTo === 0) return tally
  for (const event of await eventsUpTo(db, { goalId, upTo, types: metricEventTypes })) countRecoveryEvent(tally, event)
  return tally
}

/** A line after each event that changes the numbers, so that the file of the same events is always the same. */
const metricsAfter = (tally: RecoveryTally, goalId: string, event: StoredEvent): string => {
  const before = JSON.stringify(recoveryMetrics(tally))
  countRecoveryEvent(tally, event)
  return JSON.stringify(recoveryMetrics(tally)) === before ? '' : metricsLine(goalId, event.at, tally)
}

const runEnded = ['run.succeeded', 'run.failed', 'run.cancelled']

/** The lines of these events of a goal in `usage.jsonl`. */
const usageOf = async ({ db }: Context, events: readonly StoredEvent[], tally: RecoveryTally): Promise<string> => {
  const isEnd = ({ type }: StoredEvent): boolean => runEnded.includes(type)
  const ids = events.filter(isEnd).flatMap(({ runId }) => runId ?? [])
  const runs = new Map((await endedRuns(db, ids)).map((run) => [run.id, run]))
  const lines = events.map((event) => {
    const run = isEnd(event) ? runs.get(event.runId ?? '') : undefined
    return run === undefined ? metricsAfter(tally, event.goalId ?? '', event) : usageLine(run, event.at)
  })
  return lines.join('')
}

/** Continues the texts with all events of the goal that they lack. */
const continued = async (context: Context, goalId: string, start: Texts): Promise<Texts> => {
  const texts = { ...start }
  const tally = await tallyUpTo(context, goalId, start.eventId)
  for (;;) {
    const events = await readEvents(context.db, { after: texts.eventId, limit: pageSize, goalId })
    texts.events += events.map(eventLine).join('')
    texts.usage += await usageOf(context, events, tally)
    texts.eventId = events.at(-1)?.id ?? texts.eventId
    if (events.length < pageSize) return texts
  }
}

const empty: Texts = { events: '', usage: '', eventId: 0 }

/** What the files contain, where that is what was written last; else they begin again. */
const written = ({ ports: { files } }: Context, folder: string, last: GoalExport | undefined): Texts => {
  const events = readIfFile(files, join(folder, 'events.jsonl')) ?? ''
  const usage = readIfFile(files, join(folder, 'usage.jsonl')) ?? ''
  const isSame = digestOf(events) === last?.eventsDigest && digestOf(usage) === last.usageDigest
  return isSame ? { events, usage, eventId: last.eventId } : empty
}

/** The folder of a goal; undefined = a part of its path is a link to another place. */
const folderOf = ({ ports: { files }, repository: { root } }: Context, goalId: string): string | undefined => {
  const loops = join(root, goalExports.folder)
  const folder = join(loops, goalId)
  return [dirname(loops), loops, folder].every((path) => isOwnPlace(files, path)) ? folder : undefined
}

const writeFiles = ({ ports: { files }, repository }: Context, folder: string, texts: Map<string, string>): void => {
  const changed = [...texts].filter(([name, text]) => {
    const path = join(folder, name)
    return !isOwnPlace(files, path) || readIfFile(files, path) !== text
  })
  // A repository that was moved away must not be made again: its owner could not move it back.
  if (changed.length === 0 || !files.existsSync(repository.root)) return
  files.mkdirSync(folder, { recursive: true })
  ignoreAllIn(files, dirname(folder))
  for (const [name, text] of changed) replaceFile(files, join(folder, name), text, fileMode)
}

/** Goals whose trouble is logged, per log. */
const reported = new WeakMap<Logger, Set<string>>()

const reportOnce = ({ log }: Context, goalId: string, error: string): void => {
  const known = reported.get(log) ?? new Set()
  reported.set(log, known)
  if (known.has(goalId)) return
  known.add(goalId)
  const folder = `${goalExports.folder}/${goalId}`
  log.warn({ goal: goalId, error }, `the exports of a goal could not be written to ${folder}; its work continues`)
}

/** The files as they are in the owner's checkout; undefined = they cannot be there. */
const readWritten = async (context: Context, goalId: string): Promise<{ folder: string; start: Texts } | undefined> => {
  const last = await getGoalExport(context.db, goalId)
  try {
    const folder = folderOf(context, goalId)
    if (folder !== undefined) return { folder, start: written(context, folder, last) }
    reportOnce(context, goalId, `a folder on the way is a link to another place; remove it`)
  } catch (error) {
    reportOnce(context, goalId, messageOf(error)) // a place of the owner that cannot be read must not fail the work
  }
  return undefined
}

const questionOf = async (
  { db, repository: { root } }: Context,
  goalId: string,
): Promise<ExportedQuestion | undefined> => {
  const question = shownQuestion(await listEscalations(db, { goalId }))
  if (question === undefined) return undefined
  const { taskId, decidedAt, runId } = question
  const proposal = await getProposal(db, proposalIn(question) ?? '')
  const isReasoned = proposalKinds.includes(question.kind) && taskId !== null
  const reason = isReasoned ? await escalationReason(db, { taskId, before: decidedAt }) : undefined
  return {
    ...{ question, root, iteration: await iterationOf(db, goalId, runId) },
    ...(proposal === undefined ? {} : { proposal }),
    ...(reason === undefined ? {} : { reason }),
  }
}

const exportGoal = async (context: Context, goalId: string): Promise<void> => {
  const { db } = context
  const place = await readWritten(context, goalId)
  const goal = await getGoal(db, goalId)
  if (place === undefined || goal === undefined) return
  const texts = await continued(context, goalId, place.start)
  const all = new Map([
    ['events.jsonl', texts.events],
    ['usage.jsonl', texts.usage],
    ['state.json', stateText(goal, await goalProgress(db, goalId))],
  ])
  const question = await questionOf(context, goalId)
  if (question !== undefined) all.set('escalation.json', escalationText(question))
  try {
    writeFiles(context, place.folder, all)
  } catch (error) {
    return reportOnce(context, goalId, messageOf(error)) // as above
  }
  if (texts.eventId === place.start.eventId) return
  const { eventId, events, usage } = texts
  await saveGoalExport(db, { goalId, eventId, eventsDigest: digestOf(events), usageDigest: digestOf(usage) })
}

/** Exports what is new since the last call. `atOnce`: without a wait, because the engine stops. */
export type GoalExportJob = (context: Context, atOnce?: boolean) => Promise<void>

/**
 * Nothing is written for a repository by URL, which has no checkout, and for a plain folder, where git does not exclude the files.
 */
export const createGoalExportJob = (): GoalExportJob => {
  let seen = 0
  let dueAt = Number.NEGATIVE_INFINITY
  let compareAt = Number.NEGATIVE_INFINITY
  let stopTimer: (() => void) | undefined
  return async (context, atOnce = false) => {
    const { clock, db, repository } = context
    const { commonDir, url } = repository
    if (url !== undefined || commonDir === null) return
    const began = clock.elapsed()
    const isWhole = began >= compareAt
    const news = isWhole ? await goalsToExport(db) : await goalsWithEventsAfter(db, seen)
    if (began < dueAt && !atOnce && !news.isUrgent) {
      // What happened in this pass must not wait for the next poll.
      if (news.goals.length > 0)
        stopTimer ??= clock.after(dueAt - began, () => {
          stopTimer = undefined
          context.wake()
        })
      return
    }
    stopTimer?.()
    stopTimer = undefined
    for (const goalId of news.goals) await exportGoal(context, goalId)
    seen = news.upTo
    if (isWhole) compareAt = began + compareEveryMs
    dueAt = clock.elapsed() + waitPerWork * (clock.elapsed() - began)
  }
}

/** What happened since the last pass is exported before the store closes. */
export const exportLast = async (
  context: Context,
  exportGoals: GoalExportJob,
  leadership: Leadership | undefined,
): Promise<void> => {
  try {
    const leading = await leadership?.context()
    if (leading !== undefined) await exportGoals(leading, true)
  } catch (error) {
    const message = 'the last events of the goals are exported when an engine starts again'
    context.log.warn({ error: messageOf(error) }, message) // the engine stops in any case
  }
}
