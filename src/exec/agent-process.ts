/**
 * One launch of the agent as a child of this process. It delivers the lines of both streams, redacted and bounded, and at the end
 * it ends the agent's whole process tree. Standard input is a file or empty, never an open pipe, because two CLIs hang on a pipe.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { AgentExit } from '../harness/driver.ts'
import { releaseMark, markOf } from '../platform/mark.ts'
import { startTimeOf } from '../platform/process.ts'
import type { OutputStream } from '../process/shim-protocol.ts'
import { createTree, markerName } from '../process/find.ts'
import { startGuard, type Guard } from '../process/guard.ts'
import { createOutput, type Output } from '../process/output.ts'
import { withMark } from '../process/program.ts'
import { createRedactor, secretValues } from '../process/redact.ts'
import { endTree } from '../process/end-tree.ts'
import { survivorsIn, type Survivor } from '../process/sweep.ts'
import { processUsage, type ProcessUsage } from '../process/usage.ts'
import { defined } from '../domain/defined.ts'

const lineMaxBytes = 1024 * 1024
const secretMaxBytes = 4096
const graceMs = 5_000
/** A survivor may keep the pipes open forever. */
const drainMs = 2_000
/** A line that grew within this time is still being written, so it is no question to the user. */
const unfinishedAfterMs = 500

export interface AgentLaunch {
  argv: string[]
  cwd: string
  environment: Record<string, string | undefined>
  stdinFile: string | null
  /** Marks every process of this launch's tree, in its environment. */
  marker: string
  onLine(stream: OutputStream, text: string): void
  /** Called before the agent is ended for that cause. */
  onStop?(cause: string): void
}

/** `fault`: why it could not be started; `left`: processes of its tree that could not be ended. */
export interface AgentEnd extends AgentExit {
  fault?: string
  left?: Survivor[]
}

export interface RunningAgent {
  /** Never rejects. */
  ended: Promise<AgentEnd>
  /** Ends the whole tree. The first cause is kept. */
  stop(cause: string): void
  /** The incomplete last line of both streams, once it has stopped growing. */
  unfinishedLine(): string
  /** CPU use of its tree. */
  usage(): ProcessUsage[]
}

const faultOf = (program: string, error: unknown): string => {
  const { code = String(error) } = error as NodeJS.ErrnoException
  return code === 'ENOENT'
    ? `the program ${program} was not found (${code})`
    : `${program} could not be started (${code})`
}

const linesTo = (stream: OutputStream, { onLine, environment }: AgentLaunch) => {
  const log = {
    append: (bytes: Buffer) =>
      bytes
        .toString('utf8')
        .slice(0, -1)
        .split('\n')
        .forEach((text) => onLine(stream, text)),
  }
  return createOutput({ log, redact: createRedactor(secretValues(environment)), lineMaxBytes, secretMaxBytes })
}

/** One mark for all launches is enough, because a launch begins only after every process of the last one has ended. */
const ownMark = (): string => {
  const startTime = startTimeOf(process.pid)
  return startTime === undefined ? '' : markOf({ pid: process.pid, startTime })
}

type Child = ChildProcessByStdio<null, Readable, Readable>

const start = ({ argv, cwd, environment, stdinFile, marker }: AgentLaunch): { child: Child; guard: Guard } => {
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
const readLines = (child: Child, parts: AgentLaunch): (() => string) => {
  let dataAt = performance.now()
  const outputs: Output[] = []
  for (const stream of ['stdout', 'stderr'] as const) {
    const output = linesTo(stream, parts)
    outputs.push(output)
    child[stream].on('data', (chunk: Buffer) => {
      dataAt = performance.now()
      output.push(chunk)
    })
    child[stream].once('close', () => output.end())
  }
  return () =>
    performance.now() - dataAt < unfinishedAfterMs ? '' : outputs.map((output) => output.unfinished()).join('')
}

interface Ending {
  scan: ReturnType<typeof createTree>
  /** Resolves when a stop is requested. */
  requested: Promise<void>
  cause(): string | undefined
}

/** Waits until the agent exits or a stop is requested, then ends what is left of its process tree. */
const awaitEnd = async (
  { child, guard }: ReturnType<typeof start>,
  program: string,
  { scan, requested, cause }: Ending,
): Promise<AgentEnd> => {
  const closed = once(child, 'close')
  try {
    await Promise.race([once(child, 'exit'), requested])
  } catch (error) {
    closed.catch(() => undefined) // the same error, handled here
    guard.release()
    releaseMark(ownMark())
    return { code: null, signal: null, fault: faultOf(program, error) }
  }
  const own = child.exitCode !== null || child.signalCode !== null
  const { survivors } = await endTree(scan, graceMs)
  releaseMark(ownMark())
  const left = survivors === 0 ? [] : survivorsIn(scan())
  if (survivors === 0) guard.release()
  await Promise.race([closed, delay(drainMs, undefined, { ref: false })])
  child.stdout.destroy()
  child.stderr.destroy()
  const stopCause = own ? undefined : cause()
  return {
    ...{ code: child.exitCode, signal: child.signalCode },
    ...defined({ stopCause }),
    ...(left.length === 0 ? {} : { left }),
  }
}

export const launchAgent = (parts: AgentLaunch): RunningAgent => {
  const started = start(parts)
  const scan = createTree(parts.marker, started.child.pid, { marks: [ownMark()] })
  const unfinished = readLines(started.child, parts)
  const requested = Promise.withResolvers<void>()
  let cause: string | undefined
  return {
    ended: awaitEnd(started, parts.argv[0] ?? '', { scan, requested: requested.promise, cause: () => cause }),
    stop: (given) => {
      if (cause === undefined) parts.onStop?.(given)
      cause ??= given
      requested.resolve()
    },
    unfinishedLine: unfinished,
    usage: () => processUsage(scan()),
  }
}
