/** The checks of the newest verification of a run, read from their folders: command, outcome, and start and end of the output. */
import { join } from 'node:path'
import type { Files } from '../core/files.ts'
import { readIfFile } from '../core/files.ts'
import type { RunPaths } from '../core/context.ts'
import type { Processes } from '../core/ports.ts'

const headLines = 60
const tailLines = 140

type Lines = { stream: 'stdout' | 'stderr'; text: string }[]

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

/** The command line of a check; empty = the engine was killed before it wrote the order. */
export const checkArgv = (files: Files, dir: string): string[] => {
  try {
    return (JSON.parse(readIfFile(files, join(dir, 'spec.json')) ?? '') as { argv: string[] }).argv
  } catch {
    return []
  }
}

const commandOf = (files: Files, dir: string): string => checkArgv(files, dir).join(' ') || 'a check'

/** `outcome` is for people: "exit 1", "timed out", "running"; the times are null while the check runs. */
const outcomeOf = (
  state: ReturnType<Processes['launchState']>,
): Record<'startedAt' | 'endedAt', string | null> & { outcome: string } => {
  if (state.state !== 'ended')
    return { startedAt: null, endedAt: null, outcome: state.state === 'lost' ? 'lost' : 'running' }
  const { code, signal, cause, spawnError, startedAt, endedAt } = state.exit
  if (spawnError !== undefined) return { startedAt, endedAt, outcome: `could not be started: ${spawnError}` }
  if (cause === 'limit') return { startedAt, endedAt, outcome: 'timed out' }
  return { startedAt, endedAt, outcome: code === null ? `ended by ${signal ?? 'a signal'}` : `exit ${code}` }
}

const checkIn = ({ files, processes }: CheckPorts, dir: string, number: number) => ({
  number,
  command: commandOf(files, dir),
  ...outcomeOf(processes.launchState(dir)),
  lines: linesOf(processes, dir),
})

interface CheckPorts {
  files: Files
  processes: Processes
}

/** A new verification overwrites the folders of the previous one, so these are the checks of the newest. */
export const readChecks = (ports: CheckPorts, paths: RunPaths) => {
  const found: ReturnType<typeof checkIn>[] = []
  for (let number = 1; ; number += 1) {
    const dir = paths.check(number)
    if (!ports.files.existsSync(dir)) return found
    found.push(checkIn(ports, dir, number))
  }
}
