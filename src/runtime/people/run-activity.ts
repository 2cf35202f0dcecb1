/**
 * The current activity of a run for a live view: the agent's last line, its tokens so far, the check in progress. Each poll reads the
 * output of a launch from where the last poll ended, so that it costs only the new output.
 */
import { basename, join } from 'node:path'
import type { Run } from '../../domain/run.ts'
import type { Driver, Transcript } from '../../harness/driver.ts'
import { runPaths, type Context } from '../core/context.ts'
import { checkArgv } from './check-log.ts'

export interface Activity {
  /** Without cached input; of all launches of the run. */
  tokens: number
  last: string | null
  /** The program of a check that runs now, with its arguments. */
  check: string | null
}

interface Position {
  launch: number
  stdout: number
  stderr: number
  transcript: Transcript
  last: string | null
}

/** Positions that are kept; more than the runs that are watched at a time. */
const keptRuns = 100

const readOn = (processes: Context['ports']['processes'], driver: Driver, dir: string, from: Position): Position => {
  const at = { ...from }
  for (const stream of ['stderr', 'stdout'] as const) {
    const part = processes.readSegments(dir, stream, at[stream])
    for (const line of part.lines) {
      const step = driver.read(at.transcript, stream, line)
      at.transcript = step.transcript
      at.last = step.note?.text ?? at.last
    }
    at[stream] = part.nextOffset
  }
  return at
}

/** A command line without the folder of its program, which tells a reader nothing. */
const commandText = (argv: readonly string[]): string => [basename(argv[0] ?? ''), ...argv.slice(1)].join(' ')

const runningCheck = ({ ports: { files, processes }, stateDir, environment }: Context, run: Run): string | null => {
  const folder = join(runPaths({ stateDir }, run.id).root, 'checks')
  if (run.phase !== 'verify' || !files.existsSync(folder)) return null
  for (const name of files.readdirSync(folder)) {
    const dir = join(folder, name)
    if (processes.launchState(dir).state !== 'running') continue
    return processes.redactText(commandText(checkArgv(files, dir)), environment)
  }
  return null
}

/** The tokens of earlier launches are in the store; those of the last one are parsed from its output. */
const tokensOf = (driver: Driver, { launches }: Run, { launch, transcript }: Position): number => {
  const before = launches
    .filter(({ number }) => number < launch)
    .reduce((sum, { spend }) => sum + (spend?.tokens ?? 0), 0)
  const { input, cachedInput, output } = transcript.tokens
  const read = input - cachedInput + output
  const isOfSession =
    driver.tokenScope === 'session' && launches.some((one) => one.number === launch && one.resumeSession !== null)
  return Math.max(before, isOfSession ? read : before + read)
}

export const createActivities = (context: Context): ((run: Run, driver: Driver) => Activity) => {
  const positions = new Map<string, Position>()
  return (run, driver) => {
    const launch = run.launches.at(-1)?.number ?? 1
    const known = positions.get(run.id)
    const begin = { launch, stdout: 0, stderr: 0, transcript: driver.emptyTranscript(), last: known?.last ?? null }
    const dir = runPaths(context, run.id).launch(launch)
    const now = readOn(context.ports.processes, driver, dir, known?.launch === launch ? known : begin)
    positions.delete(run.id)
    if (run.state === 'running') positions.set(run.id, now)
    for (const id of positions.keys()) if (positions.size > keptRuns) positions.delete(id)
    const { tokens } = run.state === 'running' ? { tokens: tokensOf(driver, run, now) } : run.spend
    return { tokens, last: now.last, check: runningCheck(context, run) }
  }
}
