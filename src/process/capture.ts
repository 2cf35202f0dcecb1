/** Copies the pipes of a supervised program into the log files of its launch folder, until the pipes close or fall silent. */
import type { ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'
import type { LaunchSpec, OutputStream } from './shim-protocol.ts'
import { writeRecord } from './folder.ts'
import { createOutput } from './output.ts'
import { createRedactor } from './redact.ts'
import { createSegmentLog } from './segment-log.ts'

const secretAtLeastBytes = 4096
const drainIdleMs = 200
const drainLimitMs = 5000
const unfinishedAfterMs = 500

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const now = (): number => performance.now()

interface Pipe {
  stream: OutputStream
  readable: Readable
}

const openOutput = (dir: string, spec: LaunchSpec, stream: OutputStream, secrets: string[]) => {
  const log = createSegmentLog(dir, stream, spec.logMaxBytes)
  const output = createOutput({
    log,
    redact: createRedactor(secrets),
    // A line longer than this would break the log's own bound.
    lineMaxBytes: Math.max(1, Math.min(spec.lineMaxBytes, Math.floor(spec.logMaxBytes / 4))),
    secretMaxBytes: Math.max(secretAtLeastBytes, ...secrets.map((secret) => secret.length)),
  })
  return { log, output }
}

/** Feeds one pipe of the program into its log. `drain` waits for the pipe to close, but not for a survivor that keeps it open. */
const capture = (dir: string, spec: LaunchSpec, { stream, readable: pipe }: Pipe, secrets: string[]) => {
  const { log, output } = openOutput(dir, spec, stream, secrets)
  let open = true
  let lastDataAt = now()
  pipe.on('data', (chunk: Buffer) => {
    lastDataAt = now()
    output.push(chunk)
  })
  pipe.on('error', () => {
    open = false // a pipe that cannot be read is treated as closed
  })
  pipe.on('close', () => {
    open = false
  })
  return {
    /** The incomplete last line, once no byte has been added to it for a while. */
    unfinished: (): string => (open && now() - lastDataAt >= unfinishedAfterMs ? output.unfinished() : ''),
    async drain(): Promise<void> {
      const begun = now()
      while (open && now() - Math.max(begun, lastDataAt) < drainIdleMs && now() - begun < drainLimitMs) await sleep(1)
      pipe.destroy()
      output.end()
      log.close()
    },
  }
}

/** Records the incomplete last line for the engine. On a full disk the engine only misses it. */
const recordUnfinished = (dir: string, unfinished: () => string): (() => void) => {
  let recorded = ''
  const timer = setInterval(() => {
    const text = unfinished()
    if (text === recorded) return
    try {
      writeRecord(dir, 'unfinished.json', { text })
      recorded = text
    } catch {
      // The next tick tries again.
    }
  }, unfinishedAfterMs)
  return () => clearInterval(timer)
}

/** Logs the program's output and records its incomplete last line; `stopRecording` ends the latter, `drain` finishes the logs. */
export const followOutputs = (child: ChildProcess, dir: string, spec: LaunchSpec, secrets: string[]) => {
  const outputs = [
    capture(dir, spec, { stream: 'stdout', readable: child.stdout as Readable }, secrets),
    capture(dir, spec, { stream: 'stderr', readable: child.stderr as Readable }, secrets),
  ]
  const stopRecording = recordUnfinished(dir, () => outputs.map(({ unfinished }) => unfinished()).join(''))
  return { stopRecording, drain: () => Promise.all(outputs.map((output) => output.drain())) }
}
