/**
 * The looks at a running agent that prints nothing: what it said last, and whether anything in its tree uses the processor.
 * `recovery/stall.ts` counts. Shared by a run of the engine and by `unstuck exec`: it knows no store and no session.
 */
import type { Reading } from '../harness/driver.ts'
import type { ProcessUsage } from '../process/usage.ts'
import { loopOf, mostFrequent, type LoopLimits } from '../recovery/doom-loop.ts'
import {
  asksForAnswer,
  burntMs,
  isQuestionTool,
  look,
  lookEveryMs,
  notQuiet,
  stallText,
  type Look,
  type StallKind,
  type StallLimits,
  type StallCause,
} from '../recovery/stall.ts'
import type { Clock } from './context.ts'

export interface Quieted {
  quietSeconds: number
  processes: number
  cpuPercent: number
  /** What it had begun to print. */
  unfinished?: string
}

export interface Watched {
  clock: Pick<Clock, 'elapsed' | 'every'>
  limits: StallLimits
  usage(): ProcessUsage[]
  /** The end of a line that it has begun. */
  unfinished(): string
  /** Nothing is counted meanwhile. */
  rests(): boolean
  /** It has been quiet for a while; nothing follows. */
  quiet(seen: Quieted): void
  /** A clock ran out. Called once, at the end of all looks. */
  stalled(stall: StallKind, seen: Quieted): void
}

export interface StallWatch {
  heard(stream: 'stdout' | 'stderr', before: Reading, after: Reading): void
  end(): void
}

/** Calls that have ended: more of them after a line means that the line was an answer. */
const ended = (reading: Reading): number => reading.toolCalls - reading.openCalls.length

interface Sample {
  at: number
  usage: ProcessUsage[]
}

/** Undefined is no signal: nothing to compare with, or a process that waits for its turn on a crowded machine. */
const shareOf = (before: Sample | undefined, now: Sample): number | undefined =>
  before === undefined || now.at <= before.at || now.usage.some(({ runnable }) => runnable)
    ? undefined
    : burntMs(before.usage, now.usage) / (now.at - before.at)

/** Watches until `end` is called or a clock ran out. */
export const watchQuiet = (watched: Watched): StallWatch => {
  const { clock, limits } = watched
  let quiet = notQuiet
  let heard = true
  let afterToolResult = false
  let sample: Sample | undefined
  let unfinished = ''
  let question: string | undefined
  let lookedAt = clock.elapsed()
  const once = (): void => {
    const begun = watched.unfinished()
    // A line that grows is output, though no reader has seen it yet.
    if (watched.rests() || begun !== unfinished) heard = true
    unfinished = begun
    const now = clock.elapsed()
    const passedMs = now - lookedAt
    lookedAt = now
    const prompt = asksForAnswer(begun) ? begun : question
    const seen: Look = { passedMs, heard, afterToolResult, ...(prompt === undefined ? {} : { prompt }) }
    if (heard) sample = undefined
    else {
      const next = { at: now, usage: watched.usage() }
      const cpuShare = shareOf(sample, next)
      if (cpuShare !== undefined) seen.cpuShare = cpuShare
      sample = next
    }
    heard = false
    const found = look(quiet, seen, limits)
    quiet = found.quiet
    if (found.stall === undefined && found.probe === undefined) return
    const told = {
      quietSeconds: Math.round(quiet.quietMs / 1000),
      processes: sample?.usage.length ?? 0,
      cpuPercent: Math.round((seen.cpuShare ?? 0) * 1000) / 10,
      ...(begun === '' ? {} : { unfinished: begun }),
    }
    if (found.stall === undefined) return watched.quiet(told)
    endLooks()
    watched.stalled(found.stall, told)
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

/** The call that was open when it stopped or died. */
export const openCallOf = (reading: Reading): string | undefined => {
  const call = reading.openCalls.at(-1)
  if (call === undefined) return undefined
  const about = call.command ?? call.path
  return about === undefined ? call.tool : `${call.tool}: ${about}`
}

/** What such a stop is told with, and the call at which it stood. `question`: what it had begun to print. */
export const seenAtStall = (
  stalled: StallCause,
  reading: Reading,
  { stall, loops, question }: { stall: StallLimits; loops: LoopLimits; question: string },
): { text: string; call?: string } => {
  // Its last calls may be other ones: it went on until it was ended.
  if (stalled === 'doom_loop') return loopOf(reading.calls, loops) ?? mostFrequent(reading.calls)
  const call = openCallOf(reading)
  const text = stallText(stalled, stall, { call, question })
  return { text, ...(call === undefined ? {} : { call }) }
}
