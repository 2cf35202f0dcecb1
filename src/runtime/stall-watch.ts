/**
 * Looks at a running agent that prints nothing: what it said last, and whether anything in its tree uses the processor.
 * `recovery/stall.ts` counts; this looks, tells of it, and asks for the stop.
 */
import type { Config } from '../config.ts'
import type { Reading } from '../harness/driver.ts'
import {
  asksForAnswer,
  burntMs,
  isQuestionTool,
  look,
  lookEveryMs,
  notQuiet,
  type Look,
  type StallKind,
  type StallLimits,
} from '../recovery/stall.ts'
import { appendEvent } from '../store/event.ts'
import { holdLease } from '../store/run.ts'
import type { ProcessUsage } from '../process/usage.ts'
import type { Session } from './session.ts'

const ms = (seconds: number): number => (seconds === -1 ? Number.POSITIVE_INFINITY : seconds * 1000)

export const stallLimits = ({ stall }: Config): StallLimits => ({
  waitingForPersonMs: ms(stall.promptSeconds),
  stuckAfterToolResultMs: ms(stall.afterToolResultSeconds),
  silenceMs: ms(stall.silenceSeconds),
  probeMs: ms(stall.probeSeconds),
  busyShare: stall.busyCpuPercent / 100,
})

/** Calls that have ended: more of them after a line means that the line was an answer. */
const ended = (reading: Reading): number => reading.toolCalls - reading.openCalls.length

export interface StallWatch {
  heard(stream: 'stdout' | 'stderr', before: Reading, after: Reading): void
  end(): void
}

const tell = (session: Session, stall: StallKind | undefined, payload: Record<string, unknown>): void => {
  const { context, run } = session
  const place = { goalId: run.goalId, taskId: run.taskId, runId: run.id, payload }
  context.db
    .transaction(async (tx) => {
      await holdLease(tx, run)
      if (stall === undefined) await appendEvent(tx, { type: 'run.quiet', ...place })
      else await appendEvent(tx, { type: 'run.stalled', ...place })
    })
    .catch((error: unknown) => {
      context.log.warn({ run: run.id, error: String(error) }, 'a quiet agent could not be told of')
    })
}

interface Sample {
  at: number
  usage: ProcessUsage[]
}

const shareOf = (before: Sample | undefined, now: Sample): number | undefined =>
  before === undefined || now.at <= before.at ? undefined : burntMs(before.usage, now.usage) / (now.at - before.at)

export interface Watched {
  /** Folder of the launch. */
  dir: string
  /** Nothing is counted meanwhile. */
  rests: () => boolean
}

/** Watches until `end` is called or a clock ran out; then `stop` is called, once. */
export const watchStalls = (
  session: Session,
  { dir, rests }: Watched,
  stop: (stall: StallKind) => void,
): StallWatch => {
  const { context, run } = session
  const { clock, ports } = context
  const limits = stallLimits(context.config())
  let quiet = notQuiet
  let heard = true
  let afterToolResult = false
  let sample: Sample | undefined
  let unfinished = ''
  let question: string | undefined
  let lookedAt = clock.elapsed()
  const once = (): void => {
    const begun = ports.processes.unfinishedLine(dir)
    // A line that grows is output, though no reader has seen it yet.
    if (rests() || begun !== unfinished) heard = true
    unfinished = begun
    const now = clock.elapsed()
    const passedMs = now - lookedAt
    lookedAt = now
    const prompt = asksForAnswer(begun) ? begun : question
    const seen: Look = { passedMs, heard, afterToolResult, ...(prompt === undefined ? {} : { prompt }) }
    if (heard) sample = undefined
    else {
      const next = { at: now, usage: ports.processes.treeUsage(run.id) }
      const cpuShare = shareOf(sample, next)
      if (cpuShare !== undefined) seen.cpuShare = cpuShare
      sample = next
    }
    heard = false
    const found = look(quiet, seen, limits)
    quiet = found.quiet
    if (found.stall === undefined && found.probe === undefined) return
    tell(session, found.stall, {
      ...(found.stall === undefined ? {} : { stall: found.stall }),
      quietSeconds: Math.round(quiet.quietMs / 1000),
      processes: sample?.usage.length ?? 0,
      cpuPercent: Math.round((seen.cpuShare ?? 0) * 1000) / 10,
      ...(begun === '' ? {} : { unfinished: begun }),
    })
    if (found.stall === undefined) return
    endLooks()
    stop(found.stall)
  }
  const endLooks = clock.every(lookEveryMs(limits), once)
  return {
    heard(stream, before, after) {
      heard = true
      // What a CLI mutters on standard error is no turn of the model, unless it tells of a retry of its own.
      if (stream === 'stdout' || after.retry !== before.retry) afterToolResult = ended(after) > ended(before)
      if (after.openCalls.length > 0) afterToolResult = false
      question = after.openCalls.find(({ tool }) => isQuestionTool(tool))?.tool
    },
    end: endLooks,
  }
}
