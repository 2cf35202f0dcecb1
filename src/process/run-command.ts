/**
 * Runs one verification command under a shim, so that its whole process tree ends with it, also when the engine dies. The
 * complete output (bounded, redacted) stays in the launch folder; its head and tail are returned.
 */
import type { ProcessIdentity } from '../platform/process.ts'
import type { LaunchSpec, LaunchState, Shim, OutputStream } from './shim-protocol.ts'
import { openGate, requestStop, startShim, touchKeepAlive, waitForExit } from './shim-client.ts'
import { sweep } from './sweep.ts'
import { readSegments } from './tail.ts'
import { defined } from '../domain/defined.ts'

export interface CommandRequest {
  argv: string[]
  cwd: string
  environment: Record<string, string>
  timeoutMs: number
  /** Unique per command, because every process that carries it is ended. */
  marker: string
  graceMs: number
  keepAliveMs: number
  headBytes?: number
  tailBytes?: number
  signal?: AbortSignal
  /** Awaited before the program starts, so that the shim's identity can be committed first. */
  onIdentity?: (identity: ProcessIdentity) => void | Promise<void>
}

export interface CommandResult {
  exitCode: number | null
  signal: string | null
  timedOut: boolean
  /** The program could not be started, or its shim was lost. */
  spawnError?: string
  stdout: string
  stderr: string
  stdoutTruncated: boolean
  stderrTruncated: boolean
  durationMs: number
}

const defaultEndBytes = 32 * 1024
const lineMaxBytes = 1024 * 1024
const logMaxBytes = 64 * 1024 * 1024

interface Text {
  text: string
  truncated: boolean
}

const cutHead = (text: Buffer, bytes: number): string => text.subarray(0, bytes).toString('utf8')
const cutTail = (text: Buffer, bytes: number): string =>
  text.subarray(Math.max(0, text.length - bytes)).toString('utf8')

/** The head and the tail of a stream; the omitted middle is replaced by its size. Holds at most both ends and one read in memory. */
const readEnds = (dir: string, stream: OutputStream, headBytes: number, tailBytes: number): Text => {
  let head = Buffer.alloc(0)
  let tail = Buffer.alloc(0)
  let offset = 0
  for (;;) {
    const part = readSegments(dir, stream, offset)
    if (part.lines.length === 0) break
    offset = part.nextOffset
    let rest = Buffer.from(part.lines.map((line) => `${line}\n`).join(''))
    if (head.length < headBytes) {
      const take = headBytes - head.length
      head = Buffer.concat([head, rest.subarray(0, take)])
      rest = rest.subarray(take)
    }
    tail = Buffer.concat([tail, rest])
    if (tail.length > tailBytes) tail = Buffer.from(tail.subarray(tail.length - tailBytes))
  }
  const dropped = Math.max(0, offset - head.length - tail.length)
  if (dropped === 0) return { text: Buffer.concat([head, tail]).toString('utf8'), truncated: false }
  return {
    text: `${cutHead(head, headBytes)}\n[${dropped} bytes left out by unstuck]\n${cutTail(tail, tailBytes)}`,
    truncated: true,
  }
}

/** Keeps the shim alive while the command runs. On abort it requests a stop and still waits until the tree has ended. */
const superviseShim = async (shim: Shim, request: CommandRequest): Promise<LaunchState> => {
  const stop = (): void => requestStop(shim, 'cancelled')
  const timer = setInterval(() => touchKeepAlive(shim.dir), Math.max(10, Math.floor(request.keepAliveMs / 4)))
  try {
    await request.onIdentity?.(shim.identity)
    request.signal?.addEventListener('abort', stop)
    if (request.signal?.aborted === true) stop()
    openGate(shim.dir)
    return await waitForExit(shim.dir)
  } catch (error) {
    stop()
    throw error
  } finally {
    clearInterval(timer)
    request.signal?.removeEventListener('abort', stop)
  }
}

const outcomeOf = (state: LaunchState, durationMs: number) => {
  if (state.state !== 'ended') {
    const spawnError = 'the shim of the command was lost before it could report'
    return { exitCode: null, signal: null, timedOut: false, spawnError, durationMs }
  }
  const { code, signal, cause, spawnError, durationMs: measured } = state.exit
  return {
    exitCode: code,
    signal,
    timedOut: cause === 'limit',
    ...defined({ spawnError }),
    durationMs: measured,
  }
}

const specOf = ({ argv, cwd, marker, graceMs, keepAliveMs, timeoutMs }: CommandRequest): LaunchSpec => ({
  marker,
  argv,
  cwd,
  stdinFile: null,
  limitMs: timeoutMs,
  keepAliveMs,
  graceMs,
  lineMaxBytes,
  logMaxBytes,
})

/** Runs one command to its end in a new launch folder. A failing command is a value; a shim that cannot start throws SPAWN_FAILED. */
export const runCommand = async (dir: string, request: CommandRequest): Promise<CommandResult> => {
  const begun = performance.now()
  const shim = await startShim(dir, specOf(request), request.environment)
  const state = await superviseShim(shim, request)
  if (state.state !== 'ended') await sweep(request.marker, { graceMs: request.graceMs, shims: [shim.identity] })
  const ends = (stream: OutputStream): Text =>
    readEnds(dir, stream, request.headBytes ?? defaultEndBytes, request.tailBytes ?? defaultEndBytes)
  const stdout = ends('stdout')
  const stderr = ends('stderr')
  return {
    ...outcomeOf(state, Math.round(performance.now() - begun)),
    stdout: stdout.text,
    stderr: stderr.text,
    stdoutTruncated: stdout.truncated,
    stderrTruncated: stderr.truncated,
  }
}
