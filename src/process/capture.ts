/** From the pipes of a supervised program to the files of its launch folder, until the pipes end or nothing comes any more. */
import type { ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'
import type { LaunchSpec, Stream } from './contract.ts'
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
  stream: Stream
  readable: Readable
}

const openOutput = (dir: string, spec: LaunchSpec, stream: Stream, secrets: string[]) => {
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

/** Feeds one pipe of the program into its log. `settle` waits for the pipe's end, but not for a survivor that holds it. */
const capture = (dir: string, spec: LaunchSpec, { stream, readable: pipe }: Pipe, secrets: string[]) => {
  const { log, output } = openOutput(dir, spec, stream, secrets)
  let open = true
  let lastDataAt = now()
  pipe.on('data', (chunk: Buffer) => {
    lastDataAt = now()
    output.push(chunk)
  })
  pipe.on('error', () => {
    open = false // a pipe that cannot be read any more has ended for us
  })
  pipe.on('close', () => {
    open = false
  })
  return {
    /** What it began to say and did not go on with. */
    unfinished: (): string => (open && now() - lastDataAt >= unfinishedAfterMs ? output.unfinished() : ''),
    async settle(): Promise<void> {
      const begun = now()
      while (open && now() - Math.max(begun, lastDataAt) < drainIdleMs && now() - begun < drainLimitMs) await sleep(1)
      pipe.destroy()
      output.end()
      log.close()
    },
  }
}

/** Tells the engine of a line that was begun and not ended; a full disk only keeps it from knowing. */
const tellUnfinished = (dir: string, look: () => string): (() => void) => {
  let told = ''
  const timer = setInterval(() => {
    const text = look()
    if (text === told) return
    try {
      writeRecord(dir, 'unfinished.json', { text })
      told = text
    } catch {
      // said again at the next look
    }
  }, unfinishedAfterMs)
  return () => clearInterval(timer)
}

/** Logs what the program says until its end or a request to stop, and tells the engine of lines that were only begun. */
export const followOutputs = (child: ChildProcess, dir: string, spec: LaunchSpec, secrets: string[]) => {
  const outputs = [
    capture(dir, spec, { stream: 'stdout', readable: child.stdout as Readable }, secrets),
    capture(dir, spec, { stream: 'stderr', readable: child.stderr as Readable }, secrets),
  ]
  const untell = tellUnfinished(dir, () => outputs.map(({ unfinished }) => unfinished()).join(''))
  return { untell, settle: () => Promise.all(outputs.map((output) => output.settle())) }
}
