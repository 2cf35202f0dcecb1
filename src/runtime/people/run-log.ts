/** The log of a run: the output of its launches as lines for people. With the cursor of a page a client requests the next page. */
import type { Driver } from '../../harness/driver.ts'
import type { Run } from '../../domain/run.ts'
import type { RunPaths } from '../core/context.ts'
import type { Processes } from '../core/ports.ts'

export interface LogCursor {
  launch: number
  stdout: number
  stderr: number
}

export interface LogLine {
  stream: 'stdout' | 'stderr'
  kind: string
  text: string
}

export interface RunLog {
  run: Run
  driver: Driver
  paths: RunPaths
  processes: Processes
}

const readStream = (
  { driver, processes }: Pick<RunLog, 'driver' | 'processes'>,
  dir: string,
  stream: 'stdout' | 'stderr',
  from: number,
): { lines: LogLine[]; next: number } => {
  const lines: LogLine[] = []
  let reading = driver.emptyTranscript()
  const part = processes.readSegments(dir, stream, from)
  if (part.gapBytes > 0)
    lines.push({ stream, kind: 'gap', text: `[${part.gapBytes} bytes in the middle were dropped]` })
  for (const line of part.lines) {
    const step = driver.read(reading, stream, line)
    reading = step.transcript
    if (step.note !== undefined) lines.push({ stream, ...step.note })
  }
  return { lines, next: part.nextOffset }
}

/** One page of a run's log from a cursor; launch 0 = the first launch. */
export const readRunLog = (log: RunLog, from: LogCursor) => {
  const { run, paths, processes } = log
  const launch = Math.max(1, from.launch)
  const dir = paths.launch(launch)
  const over = processes.isOver(processes.launchState(dir))
  const stdout = readStream(log, dir, 'stdout', from.stdout)
  const stderr = readStream(log, dir, 'stderr', from.stderr)
  const drained =
    over &&
    stdout.lines.length + stderr.lines.length === 0 &&
    stdout.next === from.stdout &&
    stderr.next === from.stderr
  const more = drained && launch < run.launches.length
  return {
    launch,
    lines: [...stderr.lines, ...stdout.lines],
    next: more ? { launch: launch + 1, stdout: 0, stderr: 0 } : { launch, stdout: stdout.next, stderr: stderr.next },
    ended: drained && !more && run.state !== 'running',
  }
}
