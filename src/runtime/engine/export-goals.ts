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
import { isAside } from '../../domain/escalation.ts'
import { listEscalations } from '../../store/escalation.ts'
import { readEvents, type StoredEvent } from '../../store/event.ts'
import { getGoal } from '../../store/goal.ts'
import {
  exportedRuns,
  escalationReason,
  eventsUpTo,
  getGoalExport,
  goalsToExport,
  goalsWithEventsAfter,
  goalProgress,
  iterationOf,
  saveGoalExport,
  type ExportedRun,
  type GoalExport,
} from '../../store/goal-export.ts'
import { confirmLeadership } from '../../store/leader.ts'
import { getProposal } from '../../store/recovery-proposal.ts'
import type { Context } from '../core/context.ts'
import { readIfFile } from '../core/files.ts'
import { endsPass } from '../core/pass.ts'
import { ignoreAllIn, isOwnPlace, replaceFile } from '../core/owner-export.ts'
import type { Leadership } from './leadership.ts'
import {
  endedTurnLine,
  isReview,
  escalationText,
  eventLine,
  metricsLine,
  proposalIn,
  reviewLine,
  runEndLines,
  shownQuestion,
  stateText,
  type ExportedQuestion,
} from './export-texts.ts'
import { defined } from '../../domain/defined.ts'

/** Only the owner may read the files: they contain what agents and checks printed. */
const fileMode = 0o600

/** An export waits this many times as long as the last one took: the files of a very large goal are written less often. */
const waitPerWork = 10

/** Milliseconds after which the files of all live goals are compared with what was written. */
const compareEveryMs = 60_000

const pageSize = 1_000
const mostReported = 1_000

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

interface Texts {
  events: string
  usage: string
  /** The last event that they contain. */
  eventId: number
}

const counted: readonly string[] = metricEventTypes

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
const turnStarted = 'loop.turn_started'

/** The line that an event of a run adds to `usage.jsonl`; undefined = it is another event. */
const usageLineOf = (run: ExportedRun | undefined, event: StoredEvent): string | undefined => {
  const { type, at, payload } = event
  if (run === undefined) return undefined
  if (isReview(event)) return reviewLine(run, event)
  return type === turnStarted ? endedTurnLine(run, Number(payload['launch']), at) : runEndLines(run, at)
}

/** The lines of these events of a goal in `usage.jsonl`. */
const usageOf = async ({ db }: Context, events: readonly StoredEvent[], tally: RecoveryTally): Promise<string> => {
  const isOfUsage = (event: StoredEvent): boolean =>
    event.type === turnStarted || runEnded.includes(event.type) || isReview(event)
  const ids = events.filter(isOfUsage).flatMap(({ runId }) => runId ?? [])
  const runs = new Map((await exportedRuns(db, ids)).map((run) => [run.id, run]))
  const lines = events.map((event) => {
    const line = isOfUsage(event) ? usageLineOf(runs.get(event.runId ?? ''), event) : undefined
    return line ?? metricsAfter(tally, event.goalId ?? '', event)
  })
  return lines.join('')
}

/** Without secrets: a text of an agent or check may contain one that was no secret of this environment when it was stored. */
const clean = ({ ports, environment }: Context, text: string): string =>
  text === '' ? '' : ports.processes.redactText(text, environment)

/** Continues the texts with all events of the goal that they lack. */
const continued = async (context: Context, goalId: string, start: Texts): Promise<Texts> => {
  const texts = { ...start }
  let tally: RecoveryTally | undefined
  for (;;) {
    const events = await readEvents(context.db, { after: texts.eventId, limit: pageSize, goalId })
    texts.events += clean(context, events.map(eventLine).join(''))
    // Most news count for no number, and then what the goal had before is not read.
    if (events.some(({ type }) => counted.includes(type))) tally ??= await tallyUpTo(context, goalId, start.eventId)
    texts.usage += clean(context, await usageOf(context, events, tally ?? noRecoveries()))
    texts.eventId = events.at(-1)?.id ?? texts.eventId
    if (events.length < pageSize) return texts
  }
}

const empty: Texts = { events: '', usage: '', eventId: 0 }

const fileNames = ['events.jsonl', 'usage.jsonl', 'state.json', 'escalation.json'] as const
type FileName = (typeof fileNames)[number]

/** The texts of the files; a link counts as missing, because it is replaced. */
type Found = Partial<Record<FileName, string>>

const readFound = ({ ports: { files } }: Context, folder: string): Found =>
  Object.fromEntries(
    fileNames.flatMap((name) => {
      const path = join(folder, name)
      const text = isOwnPlace(files, path) ? readIfFile(files, path) : undefined
      return text === undefined ? [] : [[name, text]]
    }),
  )

/** What the files contain, where that is what was written last; else they begin again. */
const written = (found: Found, last: GoalExport | undefined): Texts => {
  const { 'events.jsonl': events = '', 'usage.jsonl': usage = '' } = found
  const isSame = digestOf(events) === last?.eventsDigest && digestOf(usage) === last.usageDigest
  return isSame ? { events, usage, eventId: last.eventId } : empty
}

/** The folder of a goal; undefined = a part of its path is a link to another place. */
const folderOf = ({ ports: { files }, repository: { root } }: Context, goalId: string): string | undefined => {
  const loops = join(root, goalExports.folder)
  const folder = join(loops, goalId)
  return [dirname(loops), loops, folder].every((path) => isOwnPlace(files, path)) ? folder : undefined
}

interface Place {
  folder: string
  found: Found
  start: Texts
}

/** Replaces the files whose text is another one. */
const writeFiles = async (context: Context, { folder, found }: Place, texts: Map<FileName, string>): Promise<void> => {
  const { db, ports, repository } = context
  const { files } = ports
  const changed = [...texts].filter(([name, text]) => found[name] !== text)
  // A repository that was moved away must not be made again: its owner could not move it back.
  if (changed.length === 0 || !files.existsSync(repository.root)) return
  // An engine that was suspended must not replace the files of the next leader by older ones.
  await confirmLeadership(db)
  files.mkdirSync(folder, { recursive: true })
  ignoreAllIn(files, dirname(folder))
  for (const [name, text] of changed) replaceFile(files, join(folder, name), text, fileMode)
}

/** The files as they are in the owner's checkout. Throws where they cannot be there. */
const placeOf = async (context: Context, goalId: string): Promise<Place> => {
  const last = await getGoalExport(context.db, goalId)
  const folder = folderOf(context, goalId)
  if (folder === undefined) throw new Error('a folder on the way is a link to another place; remove it')
  const found = readFound(context, folder)
  return { folder, found, start: written(found, last) }
}

const questionOf = async (
  { db, repository: { root } }: Context,
  goalId: string,
): Promise<ExportedQuestion | undefined> => {
  const ofGoal = (await listEscalations(db, { goalId })).filter((question) => !isAside(question))
  const question = shownQuestion(ofGoal)
  if (question === undefined) return undefined
  const { taskId, decidedAt, runId } = question
  const proposal = await getProposal(db, proposalIn(question) ?? '')
  const isReasoned = proposalKinds.includes(question.kind) && taskId !== null
  const reason = isReasoned ? await escalationReason(db, { taskId, before: decidedAt }) : undefined
  return {
    ...{ question, root, iteration: await iterationOf(db, goalId, runId) },
    ...defined({ proposal, reason }),
  }
}

const exportGoal = async (context: Context, goalId: string): Promise<void> => {
  const { db } = context
  const place = await placeOf(context, goalId)
  const goal = await getGoal(db, goalId)
  if (goal === undefined) return
  const texts = await continued(context, goalId, place.start)
  const all = new Map<FileName, string>([
    ['events.jsonl', texts.events],
    ['usage.jsonl', texts.usage],
    ['state.json', clean(context, stateText(goal, await goalProgress(db, goalId)))],
  ])
  const question = await questionOf(context, goalId)
  if (question !== undefined) all.set('escalation.json', clean(context, escalationText(question)))
  await writeFiles(context, place, all)
  if (texts.eventId === place.start.eventId) return
  const { eventId, events, usage } = texts
  await saveGoalExport(db, { goalId, eventId, eventsDigest: digestOf(events), usageDigest: digestOf(usage) })
}

/** Logs the trouble of a goal, each kind once. */
const createReport = () => {
  const known = new Set<string>()
  return ({ log }: Context, goalId: string, error: string): void => {
    const key = `${goalId} ${error}`
    if (known.has(key) || known.size >= mostReported) return
    known.add(key)
    const folder = `${goalExports.folder}/${goalId}`
    log.warn({ goal: goalId, error }, `the exports of a goal could not be written to ${folder}; its work continues`)
  }
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
  const failing = new Set<string>()
  const report = createReport()
  /** An error of one goal, such as a place that cannot be written, must not stop the others. It is tried again at the next comparison. */
  const exportOrReport = async (context: Context, goalId: string): Promise<void> => {
    try {
      await exportGoal(context, goalId)
      failing.delete(goalId)
    } catch (error) {
      if (endsPass(context, error)) throw error
      failing.add(goalId)
      report(context, goalId, messageOf(error))
    }
  }
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
    for (const goalId of news.goals)
      if (isWhole || atOnce || !failing.has(goalId)) await exportOrReport(context, goalId)
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
