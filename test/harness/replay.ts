/** Reads recorded transcripts and plays them through a driver, as the runtime does with the files of a launch. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentExit, AgentNote, Driver, Transcript } from '../../src/harness/driver.ts'

export type Cli = 'claude' | 'codex' | 'gemini' | 'opencode'

const root = join(import.meta.dirname, '..', 'fixture', 'transcripts')

export interface Line {
  stream: 'stdout' | 'stderr'
  text: string
}

export interface RecordedTranscript {
  argv: string[]
  exit: AgentExit
  lines: Line[]
}

/** The recordings hold placeholders, but a driver is given real paths. */
const paths: [string, string][] = [
  ['<repo>', '/repo'],
  ['<dir>', '/outside'],
  ['<home>', '/home/user'],
]

const withPaths = (text: string): string =>
  paths.reduce((result, [placeholder, path]) => result.replaceAll(placeholder, path), text)

export const scenarios = (cli: Cli): string[] =>
  readdirSync(join(root, cli))
    .filter((name) => name.endsWith('.meta.json'))
    .map((name) => name.slice(0, -'.meta.json'.length))

interface Meta {
  argv: string[]
  env?: Record<string, string>
  exit_code: number | null
  exit_signal: string | null
}

export const transcript = (cli: Cli, scenario: string): RecordedTranscript => {
  const read = (ending: string): string => withPaths(readFileSync(join(root, cli, `${scenario}.${ending}`), 'utf8'))
  const meta = JSON.parse(read('meta.json')) as Meta
  const lines = (stream: Line['stream']): Line[] =>
    read(stream)
      .split('\n')
      .map((text) => ({ stream, text }))
  return {
    argv: meta.argv,
    exit: { code: meta.exit_code, signal: meta.exit_signal },
    lines: [...lines('stdout'), ...lines('stderr')],
  }
}

export const replay = (driver: Driver, lines: Line[]): { reading: Transcript; notes: AgentNote[] } => {
  let reading = driver.emptyTranscript()
  const notes: AgentNote[] = []
  for (const line of lines) {
    const step = driver.read(reading, line.stream, line.text)
    reading = step.transcript
    if (step.note !== undefined) notes.push(step.note)
  }
  return { reading, notes }
}
