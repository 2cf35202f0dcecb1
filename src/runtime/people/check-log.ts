/** The checks that a run started last, read from their folders: what ran, how it ended, and both ends of what it printed. */
import { join } from 'node:path'
import type { Files } from '../core/files.ts'
import { readOr } from '../core/files.ts'
import type { RunPaths } from '../core/context.ts'
import type { Processes } from '../core/ports.ts'

interface CheckLog {
  number: number
  command: string
  startedAt: string | null
  /** Null while it runs. */
  endedAt: string | null
  /** "exit 1", "SIGKILL", "timed out", "running". */
  outcome: string
  lines: { stream: 'stdout' | 'stderr'; text: string }[]
}

const headLines = 60
const tailLines = 140

type Lines = CheckLog['lines']

const endsOf = (lines: Lines): Lines => {
  const dropped = lines.length - headLines - tailLines
  if (dropped <= 0) return lines
  const note = { stream: 'stdout' as const, text: `[${dropped} lines left out]` }
  return [...lines.slice(0, headLines), note, ...lines.slice(-tailLines)]
}

const linesOf = (processes: Processes, dir: string): Lines =>
  (['stdout', 'stderr'] as const).flatMap((stream) => {
    const lines: Lines = []
    for (let offset = 0; ;) {
      const part = processes.readSegments(dir, stream, offset)
      if (part.gapBytes > 0) lines.push({ stream, text: `[${part.gapBytes} bytes of the middle were dropped]` })
      lines.push(...part.lines.map((text) => ({ stream, text })))
      if (part.nextOffset === offset) return endsOf(lines)
      offset = part.nextOffset
    }
  })

const commandOf = (files: Files, dir: string): string => {
  try {
    const { argv } = JSON.parse(readOr(files, join(dir, 'spec.json')) ?? '') as { argv: string[] }
    return argv.join(' ')
  } catch {
    return 'a check' // killed before its order was written
  }
}

const outcomeOf = (
  state: ReturnType<Processes['launchState']>,
): Pick<CheckLog, 'startedAt' | 'endedAt' | 'outcome'> => {
  if (state.state !== 'ended')
    return { startedAt: null, endedAt: null, outcome: state.state === 'lost' ? 'lost' : 'running' }
  const { code, signal, cause, spawnError, startedAt, endedAt } = state.exit
  if (spawnError !== undefined) return { startedAt, endedAt, outcome: `could not be started: ${spawnError}` }
  if (cause === 'limit') return { startedAt, endedAt, outcome: 'timed out' }
  return { startedAt, endedAt, outcome: code === null ? `ended by ${signal ?? 'a signal'}` : `exit ${code}` }
}

/** A new verification takes the place of the one before it, so these are those of the last. */
export const readChecks = (ports: { files: Files; processes: Processes }, paths: RunPaths): CheckLog[] => {
  const found: CheckLog[] = []
  for (let number = 1; ; number += 1) {
    const dir = paths.check(number)
    if (!ports.files.existsSync(dir)) return found
    const state = ports.processes.launchState(dir)
    const lines = linesOf(ports.processes, dir)
    found.push({ number, command: commandOf(ports.files, dir), ...outcomeOf(state), lines })
  }
}
