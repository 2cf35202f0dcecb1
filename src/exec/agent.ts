/**
 * One launch of the agent, as a child of this process: lines of both streams, redacted and bounded, and an end that leaves
 * nothing behind. Standard input is a file or empty, never an open pipe: two CLIs hang on one.
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { AgentExit } from '../harness/driver.ts'
import { createTree, markerName } from '../process/find.ts'
import { startGuard } from '../process/guard.ts'
import { createOutput, type Output } from '../process/output.ts'
import { createRedactor, secretValues } from '../process/redact.ts'
import { endTree } from '../process/stop.ts'
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

export interface RunningAgent {
  /** Never rejects. `fault` = it could not be started. */
  ended: Promise<AgentExit & { fault?: string }>
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

export const launchAgent = (parts: LaunchParts): RunningAgent => {
  const [program = '', ...args] = parts.argv
  const input = parts.stdinFile === null ? 'ignore' : openSync(parts.stdinFile, 'r')
  const env = { ...parts.environment, [markerName]: parts.marker }
  const guard = startGuard(parts.marker)
  const child = spawn(program, args, { cwd: parts.cwd, detached: true, env, stdio: [input, 'pipe', 'pipe'] })
  if (input !== 'ignore') closeSync(input)
  guard.owns(child.pid)
  const look = createTree(parts.marker, child.pid)
  const asked = Promise.withResolvers<void>()
  let cause: string | undefined
  const pipes = { stdout: child.stdout as Readable, stderr: child.stderr as Readable }
  const outputs: Output[] = []
  let saidAt = performance.now()
  for (const stream of ['stdout', 'stderr'] as const) {
    const pipe = pipes[stream]
    const output = linesTo(stream, parts)
    outputs.push(output)
    pipe.on('data', (chunk: Buffer) => {
      saidAt = performance.now()
      output.push(chunk)
    })
    pipe.once('close', () => output.end())
  }
  const run = async (): Promise<AgentExit & { fault?: string }> => {
    const closed = once(child, 'close')
    try {
      await Promise.race([once(child, 'exit'), asked.promise])
    } catch (error) {
      closed.catch(() => undefined) // the same error, told once
      guard.release()
      return { code: null, signal: null, fault: faultOf(program, error) }
    }
    const own = child.exitCode !== null || child.signalCode !== null
    const { survivors } = await endTree(look, graceMs)
    if (survivors === 0) guard.release()
    await Promise.race([closed, delay(drainMs, undefined, { ref: false })])
    pipes.stdout.destroy()
    pipes.stderr.destroy()
    return {
      code: child.exitCode,
      signal: child.signalCode,
      ...(own || cause === undefined ? {} : { stopCause: cause }),
    }
  }
  return {
    ended: run(),
    stop: (given) => {
      if (cause === undefined) parts.stopping?.(given)
      cause ??= given
      asked.resolve()
    },
    unfinished: () =>
      performance.now() - saidAt < unfinishedAfterMs ? '' : outputs.map((output) => output.unfinished()).join(''),
    usage: () => usageOf(look()),
  }
}
