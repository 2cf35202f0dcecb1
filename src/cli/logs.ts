/** The work of `unstuck logs`: shows what the agents of some runs said and did, and their checks, in order of time. */
import { setTimeout as delay } from 'node:timers/promises'
import type { ChecksView, Goal, LogView, Run, Task } from '../api/contract.ts'
import { goalEnded } from '../domain/goal.ts'
import { AppError, exitCodes } from '../errors.ts'
import type { JsonOption } from './command-options.ts'
import type { Client } from './engine/client.ts'
import { readOnly, type ReadOnlyClient } from './engine/read-only.ts'
import { printLine, printJson, type Io } from './io.ts'
import { safe } from './render.ts'
import { durationText, whenText } from './times.ts'

const pollMs = 300

export interface LogsOptions extends JsonOption {
  follow?: boolean
  last?: boolean
}

type Check = ChecksView[number]

/** The runs to show now, and whether no later run can follow. */
interface Selection {
  runs: Run[]
  over: boolean
}

const newestOfEachTask = (runs: readonly Run[]): Run[] => [...new Map(runs.map((run) => [run.taskId, run])).values()]

/** Called again while following, so that a run that starts meanwhile is followed too. */
const selectionOf = async (client: Client, id: string): Promise<Selection> => {
  if (id.startsWith('r-')) return { runs: [await client.get<Run>(`/runs/${id}`)], over: true }
  if (id.startsWith('t-')) {
    const { status } = await client.get<Task>(`/tasks/${id}`)
    const runs = await client.all<Run>(`/runs?task=${id}`)
    return { runs: runs.slice(-1), over: status === 'done' || status === 'cancelled' }
  }
  const { state } = await client.get<Goal>(`/goals/${id}`)
  const runs = await client.all<Run>(`/runs?goal=${id}`)
  return { runs: newestOfEachTask(runs), over: goalEnded(state) || state === 'ready' }
}

interface Shown {
  client: Client
  io: Io
  options: LogsOptions
  run: string
  /** Whether headings name the run, because several may be shown. */
  named: boolean
  cursor: LogView['next']
  launch: number
  checks: Set<string>
}

const heading = ({ io, named, run }: Shown, text: string): void =>
  printLine(io, `--- ${named ? `${run}: ` : ''}${text} ---`)

const showCheck = (shown: Shown, check: Check): void => {
  const { io, options, run } = shown
  if (options.json === true) return printJson(io, { run, kind: 'check', ...check })
  const { startedAt, endedAt } = check
  const when = startedAt === null ? '' : `, ${whenText(startedAt, Date.now())}`
  const seconds = (Date.parse(endedAt ?? '') - Date.parse(startedAt ?? '')) / 1000
  const lasted = Number.isNaN(seconds) ? '' : `, took ${durationText(seconds)}`
  heading(shown, `check ${safe(check.command)}: ${safe(check.outcome)}${when}${lasted}`)
  for (const { text } of check.lines) printLine(io, `${'check'.padEnd(10)} ${safe(text)}`)
}

/** Shows each check once. With `before` (a launch's start), only checks that had ended by then. While following, a running check is shown when it ends. */
const showChecks = async (shown: Shown, before = Number.POSITIVE_INFINITY): Promise<void> => {
  for (const check of await shown.client.get<ChecksView>(`/runs/${shown.run}/checks`)) {
    const { number, startedAt, endedAt } = check
    const key = `${number} ${startedAt}`
    const waits = endedAt === null && (shown.options.follow === true || before !== Number.POSITIVE_INFINITY)
    if (waits || shown.checks.has(key) || Date.parse(endedAt ?? '') > before) continue
    shown.checks.add(key)
    showCheck(shown, check)
  }
}

const beginLaunch = async (shown: Shown, launch: number): Promise<void> => {
  shown.launch = launch
  const { launches } = await shown.client.get<Run>(`/runs/${shown.run}`)
  const { startedAt, turn } = launches[launch - 1] ?? {}
  if (launch > 1) await showChecks(shown, Date.parse(startedAt ?? ''))
  const about = turn === undefined ? '' : ` (iteration ${turn.iteration}, ${turn.role})`
  if (shown.options.json !== true) heading(shown, `launch ${launch}${about}`)
}

const addressOf = ({ run, cursor: { launch, stdout, stderr } }: Shown): string =>
  `/runs/${run}/log?launch=${launch}&stdout=${stdout}&stderr=${stderr}`

/** Shows the log up to now; true if the run has ended. */
const showRun = async (shown: Shown): Promise<boolean> => {
  const { client, io, options, run } = shown
  for (;;) {
    const page = await client.get<LogView>(addressOf(shown))
    if (page.lines.length > 0 && page.launch !== shown.launch) await beginLaunch(shown, page.launch)
    for (const entry of page.lines) {
      if (options.json === true) printJson(io, { run, launch: page.launch, ...entry })
      else printLine(io, `${entry.kind.padEnd(10)} ${safe(entry.text)}`)
    }
    const moved = JSON.stringify(page.next) !== JSON.stringify(shown.cursor)
    shown.cursor = page.next
    if (!page.ended && moved && !io.signal.aborted) continue
    await showChecks(shown)
    return page.ended
  }
}

const lastRun = async (client: Client): Promise<string> => {
  const run = (await client.all<Run>('/runs')).at(-1)
  if (run === undefined)
    throw new AppError('NOT_FOUND', 'there are no runs yet; start one: unstuck run "<what you want done>"')
  return run.id
}

const checkId = (id: string | undefined, { last = false }: LogsOptions): void => {
  if ((id === undefined) !== last)
    throw new AppError(
      'USAGE',
      'which log? Give the id of a run (r-…), task (t-…) or goal (g-…), or --last for the newest run',
    )
  if (id !== undefined && !/^[rtg]-[a-z0-9]+$/.test(id))
    throw new AppError(
      'USAGE',
      `"${id}" is not the id of a run (r-…), task (t-…) or goal (g-…); "unstuck runs" lists the runs`,
    )
}

export const logsCommand = async (io: Io, given: string | undefined, options: LogsOptions): Promise<number> => {
  checkId(given, options)
  return readOnly(io, (found) => showRuns(io, given, options, found))
}

const showRuns = async (
  io: Io,
  given: string | undefined,
  requested: LogsOptions,
  { client, live }: ReadOnlyClient,
): Promise<number> => {
  const options = { ...requested, follow: requested.follow === true && live }
  const id = given ?? (await lastRun(client))
  const known = new Map<string, Shown>()
  for (;;) {
    const { runs, over } = await selectionOf(client, id)
    for (const { id: run } of runs)
      if (!known.has(run))
        known.set(run, {
          ...{
            client,
            io,
            options,
            run,
            named: given !== id || !id.startsWith('r-'),
            launch: 0,
            checks: new Set<string>(),
          },
          cursor: { launch: 0, stdout: 0, stderr: 0 },
        })
    let ended = true
    for (const shown of known.values()) ended = (await showRun(shown)) && ended
    if (known.size === 0 && !options.follow) io.error(`${id} has no run yet; "unstuck status" shows why\n`)
    if (requested.follow === true && !live && !(over && ended))
      io.error('no engine is running, so there is nothing to follow; "unstuck up" starts one\n')
    if (io.signal.aborted || !options.follow || (over && ended)) return exitCodes.ok
    await delay(pollMs, undefined, { signal: io.signal }).catch(() => undefined) // aborted: the loop ends
  }
}
