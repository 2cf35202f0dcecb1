/**
 * One launch of the agent, as a child of this process: lines of both streams, redacted and bounded, and an end that leaves
 * nothing behind. Standard input is a file or empty, never an open pipe: two CLIs hang on one.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { AgentExit } from '../harness/driver.ts'
import { dropMark, markOf } from '../platform/mark.ts'
import { startTimeOf } from '../platform/process.ts'
import { createTree, markerName } from '../process/find.ts'
import { startGuard, type Guard } from '../process/guard.ts'
import { createOutput, type Output } from '../process/output.ts'
import { withMark } from '../process/program.ts'
import { createRedactor, secretValues } from '../process/redact.ts'
import { endTree } from '../process/stop.ts'
import { survivorsIn, type Survivor } from '../process/sweep.ts'
import { usageOf, type ProcessUsage } from '../process/usage.ts'

const lineMaxBytes = 1024 * 1024
const secretMaxBytes = 4096
const graceMs = 5_000
/** A survivor in a session of its own may hold the pipes for ever. */
const drainMs = 2_000
/** A line that is being written is no question. */
const unfinishedAfterMs = 500

export type StreamName = 'stdout' | 'stderr'

export interface LaunchParts {
  argv: string[]
  cwd: string
  environment: Record<string, string | undefined>
  stdinFile: string | null
  /** Names this launch in the environment of its whole tree. */
  marker: string
  line(stream: StreamName, text: string): void
  /** It is about to be ended for that cause. */
  stopping?(cause: string): void
}

/** `fault` = it could not be started; `left` = what it started and what cannot be ended. */
export interface AgentEnd extends AgentExit {
  fault?: string
  left?: Survivor[]
}

export interface RunningAgent {
  /** Never rejects. */
  ended: Promise<AgentEnd>
  /** Ends the whole tree; the first cause is kept. */
  stop(cause: string): void
  /** What it began to print and did not go on with. */
  unfinished(): string
  /** What its tree uses. */
  usage(): ProcessUsage[]
}

const faultOf = (program: string, error: unknown): string => {
  const { code = String(error) } = error as NodeJS.ErrnoException
  return code === 'ENOENT'
    ? `the program ${program} was not found (${code})`
    : `${program} could not be started (${code})`
}

const linesTo = (stream: StreamName, { line, environment }: LaunchParts) => {
  const log = {
    append: (bytes: Buffer) =>
      bytes
        .toString('utf8')
        .slice(0, -1)
        .split('\n')
        .forEach((text) => line(stream, text)),
  }
  return createOutput({ log, redact: createRedactor(secretValues(environment)), lineMaxBytes, secretMaxBytes })
}

/** The launches of this process follow each other, and none begins before all of the last one is gone. */
const ownMark = (): string => {
  const startTime = startTimeOf(process.pid)
  return startTime === undefined ? '' : markOf({ pid: process.pid, startTime })
}

type Child = ChildProcessByStdio<null, Readable, Readable>

const start = ({ argv, cwd, environment, stdinFile, marker }: LaunchParts): { child: Child; guard: Guard } => {
  const input = stdinFile === null ? 'ignore' : openSync(stdinFile, 'r')
  const env = { ...environment, [markerName]: marker }
  const [program = '', ...args] = withMark(argv, ownMark(), { cwd, environment: env })
  const guard = startGuard(marker, ownMark())
  const child = spawn(program, args, { cwd, detached: true, env, stdio: [input, 'pipe', 'pipe'] }) as Child
  if (input !== 'ignore') closeSync(input)
  guard.owns(child.pid)
  return { child, guard }
}

/** Reads both streams as lines; the returned function gives the unfinished last line. */
const readLines = (child: Child, parts: LaunchParts): (() => string) => {
  let saidAt = performance.now()
  const outputs: Output[] = []
  for (const stream of ['stdout', 'stderr'] as const) {
    const output = linesTo(stream, parts)
    outputs.push(output)
    child[stream].on('data', (chunk: Buffer) => {
      saidAt = performance.now()
      output.push(chunk)
    })
    child[stream].once('close', () => output.end())
  }
  return () =>
    performance.now() - saidAt < unfinishedAfterMs ? '' : outputs.map((output) => output.unfinished()).join('')
}

interface Ending {
  look: ReturnType<typeof createTree>
  /** A stop was asked for. */
  asked: Promise<void>
  cause(): string | undefined
}

/** Waits until the agent exits or a stop is requested, then ends what is left of its process tree. */
const awaitEnd = async (
  { child, guard }: ReturnType<typeof start>,
  program: string,
  { look, asked, cause }: Ending,
): Promise<AgentEnd> => {
  const closed = once(child, 'close')
  try {
    await Promise.race([once(child, 'exit'), asked])
  } catch (error) {
    closed.catch(() => undefined) // the same error, told once
    guard.release()
    dropMark(ownMark())
    return { code: null, signal: null, fault: faultOf(program, error) }
  }
  const own = child.exitCode !== null || child.signalCode !== null
  const { survivors } = await endTree(look, graceMs)
  dropMark(ownMark())
  const left = survivors === 0 ? [] : survivorsIn(look())
  if (survivors === 0) guard.release()
  await Promise.race([closed, delay(drainMs, undefined, { ref: false })])
  child.stdout.destroy()
  child.stderr.destroy()
  const stopCause = own ? undefined : cause()
  return {
    ...{ code: child.exitCode, signal: child.signalCode },
    ...(stopCause === undefined ? {} : { stopCause }),
    ...(left.length === 0 ? {} : { left }),
  }
}

export const launchAgent = (parts: LaunchParts): RunningAgent => {
  const started = start(parts)
  const look = createTree(parts.marker, started.child.pid, { marks: [ownMark()] })
  const unfinished = readLines(started.child, parts)
  const asked = Promise.withResolvers<void>()
  let cause: string | undefined
  return {
    ended: awaitEnd(started, parts.argv[0] ?? '', { look, asked: asked.promise, cause: () => cause }),
    stop: (given) => {
      if (cause === undefined) parts.stopping?.(given)
      cause ??= given
      asked.resolve()
    },
    unfinished,
    usage: () => usageOf(look()),
  }
}
