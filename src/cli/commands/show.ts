/** Commands that show: status, report, tasks, runs, logs, events, explain, doctor. */
import { setTimeout as delay } from 'node:timers/promises'
import type { DoctorView, ExplainView, LogView, ReportView, Run, StatusView, StoredEvent } from '../../api/contract.ts'
import { endedShown } from '../../domain/goal.ts'
import { AppError, exitCodes } from '../../errors.ts'
import { sentenceOf } from '../../runtime/explain.ts'
import { connectKnown, findEngine, placeOf, type Client } from '../client.ts'
import { followEvents } from '../event-stream.ts'
import { line, printJson, type Io } from '../io.ts'
import { withStore } from '../offline.ts'
import { clockOf, createPaint, reportLines, safe, secondsText, statusLines, taskLine } from '../render.ts'

const pollMs = 300

export interface ShowOptions {
  json?: boolean
}

export const status = async (io: Io, options: ShowOptions & { ended?: string }): Promise<number> => {
  const query = options.ended === undefined ? '' : `?ended=${encodeURIComponent(options.ended)}`
  const view = await (await connectKnown(io)).get<StatusView>(`/status${query}`)
  if (options.json === true) printJson(io, view)
  else for (const text of statusLines(createPaint(io.colours), view)) line(io, text)
  return view.escalations.length > 0 ? exitCodes.needsPerson : exitCodes.ok
}

export const tasks = async (io: Io, options: ShowOptions & { goal?: string }): Promise<number> => {
  const view = await (await connectKnown(io)).get<StatusView>(`/status?ended=${endedShown.most}`)
  const goals = view.goals.filter((goal) => options.goal === undefined || goal.id === options.goal)
  if (options.goal !== undefined && goals.length === 0)
    throw new AppError('NOT_FOUND', `there is no goal ${options.goal}; "unstuck status" lists them`)
  const found = goals.flatMap((goal) => goal.tasks)
  if (options.json === true) printJson(io, found)
  else for (const task of found) line(io, taskLine(createPaint(io.colours), task, view.at))
  return exitCodes.ok
}

export const runs = async (io: Io, options: ShowOptions & { task?: string }): Promise<number> => {
  const filter = options.task === undefined ? '' : `?task=${encodeURIComponent(options.task)}`
  const found = await (await connectKnown(io)).all<Run>(`/runs${filter}`)
  if (options.json === true) printJson(io, found)
  for (const run of options.json === true ? [] : found) {
    const why = run.errorMeta === null ? '' : `  ${safe(run.errorMeta.message).slice(0, 100)}`
    const launches = run.launches.length > 1 ? `, ${run.launches.length} launches` : ''
    line(
      io,
      `${run.id}  task ${run.taskId}  attempt ${run.number}  ${run.state} (${run.phase})  ${run.harness}${launches}  ${secondsText(run.spend.seconds)}${why}`,
    )
  }
  return exitCodes.ok
}

/** Starts with `7d`, `12h`, `30m`, or an ISO time. */
export const sinceOf = (text: string, now: Date): Date => {
  const match = /^(\d+)([dhm])$/.exec(text)
  const wrong = new AppError(
    'USAGE',
    `--since ${JSON.stringify(text)}: give a span such as 12h, 30m or 7d, or a time such as 2026-11-21T08:00:00Z`,
  )
  if (match !== null) {
    const unit = { d: 86_400, h: 3_600, m: 60 }[match[2] as 'd' | 'h' | 'm']
    const at = new Date(now.getTime() - Number(match[1]) * unit * 1000)
    if (Number.isNaN(at.getTime())) throw wrong
    return at
  }
  const at = new Date(text)
  if (Number.isNaN(at.getTime())) throw wrong
  return at
}

export const report = async (io: Io, options: ShowOptions & { since: string }): Promise<number> => {
  const since = sinceOf(options.since, new Date())
  const place = await placeOf(io)
  const client = await findEngine(place)
  const view: ReportView =
    client === undefined
      ? await withStore(io, place, async (context) =>
          (await import('../../runtime/views.ts')).reportView(context.db, since),
        )
      : await client.get<ReportView>(`/report?since=${encodeURIComponent(since.toISOString())}`)
  if (options.json === true) printJson(io, view)
  else for (const text of reportLines(createPaint(io.colours), view)) line(io, text)
  return exitCodes.ok
}

export const doctor = async (io: Io, options: ShowOptions): Promise<number> => {
  const place = await placeOf(io)
  const client = await findEngine(place)
  const view: DoctorView =
    client === undefined
      ? await withStore(io, place, async (offline) => {
          const { realPorts } = await import('../../runtime/ports.ts')
          return (await import('../../runtime/doctor.ts')).doctor({ ...offline, ports: realPorts })
        })
      : await client.get<DoctorView>('/doctor')
  const paint = createPaint(io.colours)
  if (options.json === true) printJson(io, view)
  else
    for (const check of view.checks)
      line(io, `${check.ok ? paint.good('ok ') : paint.bad('BAD')} ${check.name}: ${check.detail}`)
  return view.ok ? exitCodes.ok : exitCodes.failed
}

export const logs = async (io: Io, runId: string, options: ShowOptions & { follow?: boolean }): Promise<number> => {
  const client = await connectKnown(io)
  let cursor = { launch: 0, stdout: 0, stderr: 0 }
  let shown = 0
  for (;;) {
    const page = await client.get<LogView>(
      `/runs/${encodeURIComponent(runId)}/log?launch=${cursor.launch}&stdout=${cursor.stdout}&stderr=${cursor.stderr}`,
    )
    if (page.launch !== shown && page.lines.length > 0 && options.json !== true)
      line(io, `--- launch ${page.launch} ---`)
    if (page.lines.length > 0) shown = page.launch
    for (const entry of page.lines) {
      if (options.json === true) printJson(io, { launch: page.launch, ...entry })
      else line(io, `${entry.kind.padEnd(10)} ${safe(entry.text)}`)
    }
    const moved = JSON.stringify(page.next) !== JSON.stringify(cursor)
    cursor = page.next
    if (page.ended || io.signal.aborted || (!moved && options.follow !== true)) return exitCodes.ok
    if (!moved) await delay(pollMs, undefined, { signal: io.signal }).catch(() => undefined) // aborted: the loop ends
  }
}

const showEvents = (io: Io, batch: StoredEvent[], options: ShowOptions): void => {
  for (const event of batch) {
    if (options.json === true) printJson(io, event)
    else line(io, `${clockOf(String(event.at))} ${event.type.padEnd(24)} ${safe(sentenceOf(event))}`)
  }
}

/** Waits for the next engine without starting one: whoever stopped it did not mean a look to bring it back. */
const awaitEngine = async (io: Io): Promise<Client | undefined> => {
  const place = await placeOf(io)
  for (let told = false; !io.signal.aborted; told = true) {
    const client = await findEngine(place)
    if (client !== undefined) return client
    if (!told) io.error('the engine does not answer; waiting for the next one\n')
    await delay(pollMs, undefined, { signal: io.signal }).catch(() => undefined) // aborted: the loop ends
  }
  return undefined
}

export const events = async (io: Io, options: ShowOptions & { follow?: boolean; goal?: string }): Promise<number> => {
  const client = await connectKnown(io)
  const { goal } = options
  if (options.follow === true) {
    const following = { first: client, goal, signal: io.signal, reconnect: () => awaitEngine(io) }
    for await (const batch of followEvents(following)) showEvents(io, batch, options)
    return exitCodes.ok
  }
  const filter = goal === undefined ? '' : `&goal=${encodeURIComponent(goal)}`
  for (let after = 0; ;) {
    const page = await client.get<StoredEvent[]>(`/events?after=${after}&limit=500${filter}`)
    showEvents(io, page, options)
    after = page.at(-1)?.id ?? after
    if (io.signal.aborted || page.length < 500) return exitCodes.ok
  }
}

export const explain = async (io: Io, id: string, options: ShowOptions): Promise<number> => {
  const view = await (await connectKnown(io)).get<ExplainView>(`/explain/${encodeURIComponent(id)}`)
  if (options.json === true) printJson(io, view)
  else {
    line(io, createPaint(io.colours).bold(safe(view.title)))
    for (const entry of view.lines) line(io, `  ${clockOf(entry.at)} ${safe(entry.text)}`)
  }
  return exitCodes.ok
}
