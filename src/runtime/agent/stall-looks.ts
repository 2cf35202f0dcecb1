/**
 * The looks at a running agent that prints nothing: what it said last, and whether anything in its tree uses the processor.
 * `recovery/stall.ts` counts. Shared by a run of the engine and by `unstuck exec`: it knows no store and no session.
 */
import type { Reading, ReportedError, Settled } from '../../harness/driver.ts'
import type { ProcessUsage } from '../../process/usage.ts'
import { isExplained } from '../../recovery/diagnosis/agent.ts'
import { loopOf, mostFrequent, type LoopLimits } from '../../recovery/doom-loop.ts'
import {
  asksForAnswer,
  burntMs,
  isDeath,
  isQuestionTool,
  isStall,
  look,
  lookEveryMs,
  notQuiet,
  stallText,
  type Look,
  type Quiet,
  type StallKind,
  type StallLimits,
  type StallCause,
  type Stalled,
} from '../../recovery/stall.ts'
import type { Clock } from '../core/context.ts'
import { openedIn } from './launch-evidence.ts'

/** Of the last words of an agent that died. */
const longestWords = 500

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

/** What the looks at one agent keep from one to the next. */
interface Looks {
  quiet: Quiet
  /** Since the look before. */
  heard: boolean
  afterToolResult: boolean
  toolRuns: boolean
  sample: Sample | undefined
  unfinished: string
  /** The tool by which it asks a person. */
  question: string | undefined
  lookedAt: number
}

const noLooks = (lookedAt: number): Looks => ({
  quiet: notQuiet,
  heard: true,
  afterToolResult: false,
  toolRuns: false,
  sample: undefined,
  unfinished: '',
  question: undefined,
  lookedAt,
})

/** Compares the processor time of the tree with the sample before. What was heard is at work, and the count begins anew. */
const takeSample = (looks: Looks, watched: Watched): number | undefined => {
  const next = looks.heard ? undefined : { at: looks.lookedAt, usage: watched.usage() }
  const cpuShare = next === undefined ? undefined : shareOf(looks.sample, next)
  looks.sample = next
  return cpuShare
}

/** What is to be seen since the look before. */
const see = (looks: Looks, watched: Watched): Look => {
  const begun = watched.unfinished()
  // A line that grows is output, though no reader has seen it yet.
  if (watched.rests() || begun !== looks.unfinished) looks.heard = true
  looks.unfinished = begun
  const now = watched.clock.elapsed()
  const passedMs = now - looks.lookedAt
  looks.lookedAt = now
  const prompt = asksForAnswer(begun) ? begun : looks.question
  const cpuShare = takeSample(looks, watched)
  const { heard, afterToolResult, toolRuns } = looks
  looks.heard = false
  return {
    ...{ passedMs, heard, afterToolResult, toolRuns },
    ...(prompt === undefined ? {} : { prompt }),
    ...(cpuShare === undefined ? {} : { cpuShare }),
  }
}

const quietedOf = ({ quiet, sample, unfinished }: Looks, { cpuShare = 0 }: Look): Quieted => ({
  quietSeconds: Math.round(quiet.quietMs / 1000),
  processes: sample?.usage.length ?? 0,
  cpuPercent: Math.round(cpuShare * 1000) / 10,
  ...(unfinished === '' ? {} : { unfinished }),
})

const hear = (looks: Looks, stream: 'stdout' | 'stderr', before: Reading, after: Reading): void => {
  looks.heard = true
  // What a CLI mutters on standard error is no turn of the model, unless it tells of a retry of its own.
  if (stream === 'stdout' || after.retry !== before.retry) looks.afterToolResult = ended(after) > ended(before)
  if (after.openCalls.length > 0) looks.afterToolResult = false
  looks.toolRuns = after.openCalls.some(({ tool }) => !isQuestionTool(tool))
  looks.question = after.openCalls.find(({ tool }) => isQuestionTool(tool))?.tool
}

/** Watches until `end` is called or a clock ran out. */
export const watchQuiet = (watched: Watched): StallWatch => {
  const { clock, limits } = watched
  const looks = noLooks(clock.elapsed())
  const once = (): void => {
    const seen = see(looks, watched)
    const { quiet, stall, probe } = look(looks.quiet, seen, limits)
    looks.quiet = quiet
    if (stall === undefined && probe === undefined) return
    const told = quietedOf(looks, seen)
    if (stall === undefined) return watched.quiet(told)
    endLooks()
    watched.stalled(stall, told)
  }
  const endLooks = clock.every(lookEveryMs(limits), once)
  return { heard: (stream, before, after) => hear(looks, stream, before, after), end: endLooks }
}

/** The call that was open when it stopped or died. */
const openCallOf = (reading: Reading): string | undefined => {
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

/** Its last words, where it had some that no rule knows; undefined = it did not die, or they explain its end. */
const deathText = (driver: string, reading: Reading, failure: ReportedError): string | undefined => {
  if (!isDeath(failure.type)) return undefined
  if (failure.source !== 'stderr') return failure.text
  if (isExplained({ harness: driver, failure, ...openedIn(reading) })) return undefined
  return `${driver} ended without its final event, and its last words were: ${failure.text.trim().slice(-longestWords)}`
}

interface EndedTurn {
  driver: string
  reading: Reading
  settled: Settled
  /** Why it was stopped, where it was. */
  cause: string | undefined
}

/**
 * Why a turn that was not finished made no progress; undefined where it was not stopped for a stall and has not died, or
 * where the CLI itself had said why it is silent: it was retrying, and that is the provider's affair.
 */
export const stallOf = (
  { driver, reading, settled, cause }: EndedTurn,
  { question, ...limits }: { stall: StallLimits; loops: LoopLimits; question: () => string },
): { kind: Stalled; text: string; call?: string } | undefined => {
  if (settled.ok || reading.retry !== undefined || reading.limit !== undefined) return undefined
  if (isStall(cause)) return { kind: cause, ...seenAtStall(cause, reading, { ...limits, question: question() }) }
  const text = deathText(driver, reading, settled.error)
  if (text === undefined) return undefined
  const call = openCallOf(reading)
  return call === undefined
    ? { kind: 'agent_died', text }
    : { kind: 'agent_died', text: `${text}, with this call open: ${call}`, call }
}
