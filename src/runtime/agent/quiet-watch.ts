/**
 * Polls a running agent that prints nothing: what it printed last, and whether a process of its tree uses processor time.
 * `recovery/stall.ts` decides from these polls. Used by runs of the engine and by `unstuck exec`, so it knows neither store nor run.
 */
import type { Driver, Transcript, ReportedError, Conclusion } from '../../harness/driver.ts'
import type { ProcessUsage } from '../../process/usage.ts'
import { isExplained } from '../../recovery/diagnosis/launch-failure.ts'
import { loopOf, mostFrequentCall, type LoopLimits } from '../../recovery/doom-loop.ts'
import { lastOwnLines } from '../../recovery/provider-message.ts'
import {
  asksForAnswer,
  usedCpuMs,
  isAgentDeath,
  isQuestionTool,
  isStallCause,
  observeSilence,
  sampleIntervalMs,
  noSilence,
  stallText,
  type ActivitySample,
  type Silence,
  type StallKind,
  type StallLimits,
  type StallCause,
  type NoProgress,
} from '../../recovery/stall.ts'
import type { ObservedStall } from '../../recovery/evidence.ts'
import type { Clock } from '../core/context.ts'
import { openedIn } from './launch-evidence.ts'
import { defined } from '../../domain/defined.ts'

/** Characters that are quoted of an agent's last output. */
const longestWords = 500
const mostLines = 5

export interface QuietObservation {
  quietSeconds: number
  processes: number
  cpuPercent: number
  /** The beginning of a line that the agent did not finish, such as a prompt. */
  unfinished?: string
  /** Programs that it had started. */
  started?: string[]
}

export interface QuietWatchOptions {
  clock: Pick<Clock, 'elapsed' | 'every'>
  limits: StallLimits
  usage(): ProcessUsage[]
  /** Bytes that these processes received so far on their open connections; undefined = unknown. Asked only in a long silence. */
  received(pids: readonly number[]): number | undefined
  /** The end of an unfinished line of its output. */
  unfinished(): string
  /** What these processes of it run besides the agent itself. */
  started(members: readonly ProcessUsage[]): string[]
  /** True = silence is not counted now. */
  isPaused(): boolean
  /** The agent has been quiet for a while. This is only reported. */
  onQuiet(seen: QuietObservation): void
  /** A limit was exceeded. Called once; polling has ended. */
  onStall(stall: StallKind, seen: QuietObservation): void
}

/**
 * Whether an answer of this CLI may be on its way without a sign: it prints only whole answers, and the bytes that arrive cannot be
 * read here (no `ss`, as on macOS).
 */
export const isAnswerUnseen = (driver: Driver, received: QuietWatchOptions['received']): boolean =>
  driver.printsWholeItems === true && received([]) === undefined

export interface StallWatch {
  onLine(stream: 'stdout' | 'stderr', before: Transcript, after: Transcript): void
  end(): void
}

/** Number of tool calls that have ended. If it rises with a line, the line was a tool result. */
const ended = (reading: Transcript): number => reading.toolCalls - reading.openCalls.length

interface Sample {
  at: number
  usage: ProcessUsage[]
  received?: number | undefined
}

/** Bytes per second since the last sample. A closed connection takes its count with it. */
const receivedSince = (before: Sample | undefined, now: Sample): number | undefined =>
  before?.received === undefined || now.received === undefined || now.at <= before.at
    ? undefined
    : (1_000 * Math.max(0, now.received - before.received)) / (now.at - before.at)

/** Share of one core that was used. Undefined = unknown: no earlier sample, or a process waits for a processor on a busy machine. */
const shareOf = (before: Sample | undefined, now: Sample): number | undefined =>
  before === undefined || now.at <= before.at || now.usage.some(({ runnable }) => runnable)
    ? undefined
    : usedCpuMs(before.usage, now.usage) / (now.at - before.at)

/** The state of the polls of one agent. */
interface Polls {
  quiet: Silence
  /** Output arrived since the last poll. */
  heard: boolean
  afterToolResult: boolean
  toolRuns: boolean
  sample: Sample | undefined
  unfinished: string
  /** Name of an open tool call that asks a person. */
  question: string | undefined
  polledAt: number
}

const noPolls = (polledAt: number): Polls => ({
  quiet: noSilence,
  heard: true,
  afterToolResult: false,
  toolRuns: false,
  sample: undefined,
  unfinished: '',
  question: undefined,
  polledAt,
})

/** Compares the processor time of the process tree with the last sample. An agent that printed is working, so the samples restart. */
const takeSample = (
  polls: Polls,
  watched: QuietWatchOptions,
): Pick<ActivitySample, 'cpuShare' | 'receivedPerSecond'> => {
  if (polls.heard) {
    polls.sample = undefined
    return {}
  }
  const next: Sample = { at: polls.polledAt, usage: watched.usage() }
  // Reading the connections costs more than reading the processor time, and early silence means nothing.
  if (polls.quiet.quietMs >= watched.limits.silenceMs / 4)
    next.received = watched.received(next.usage.map(({ pid }) => pid))
  const [cpuShare, receivedPerSecond] = [shareOf(polls.sample, next), receivedSince(polls.sample, next)]
  polls.sample = next
  return {
    ...defined({ cpuShare, receivedPerSecond }),
  }
}

/** What can be observed since the last poll. */
const poll = (polls: Polls, watched: QuietWatchOptions): ActivitySample => {
  const begun = watched.unfinished()
  // A line that grows is output, although the reader gets it only when it is complete.
  if (watched.isPaused() || begun !== polls.unfinished) polls.heard = true
  polls.unfinished = begun
  const now = watched.clock.elapsed()
  const passedMs = now - polls.polledAt
  polls.polledAt = now
  const prompt = asksForAnswer(begun) ? begun : polls.question
  const measured = takeSample(polls, watched)
  const { heard, afterToolResult, toolRuns } = polls
  polls.heard = false
  return {
    ...{ passedMs, hadOutput: heard, afterToolResult, toolRuns },
    ...defined({ prompt }),
    ...measured,
  }
}

const quietedOf = ({ quiet, sample, unfinished }: Polls, { cpuShare = 0 }: ActivitySample): QuietObservation => ({
  quietSeconds: Math.round(quiet.quietMs / 1000),
  processes: sample?.usage.length ?? 0,
  cpuPercent: Math.round(cpuShare * 1000) / 10,
  ...(unfinished === '' ? {} : { unfinished }),
})

const onLine = (polls: Polls, stream: 'stdout' | 'stderr', before: Transcript, after: Transcript): void => {
  polls.heard = true
  // Output on standard error is no turn of the model, unless the CLI reports a retry there.
  if (stream === 'stdout' || after.retry !== before.retry) polls.afterToolResult = ended(after) > ended(before)
  if (after.openCalls.length > 0) polls.afterToolResult = false
  polls.toolRuns = after.openCalls.some(({ tool }) => !isQuestionTool(tool))
  polls.question = after.openCalls.find(({ tool }) => isQuestionTool(tool))?.tool
}

/** Polls until `end` is called or a limit is exceeded. */
export const watchQuiet = (watched: QuietWatchOptions): StallWatch => {
  const { clock, limits } = watched
  const polls = noPolls(clock.elapsed())
  const pollOnce = (): void => {
    const seen = poll(polls, watched)
    const { silence, stall, probe } = observeSilence(polls.quiet, seen, limits)
    polls.quiet = silence
    if (stall === undefined && probe === undefined) return
    const quieted = quietedOf(polls, seen)
    if (stall === undefined) return watched.onQuiet(quieted)
    endPolls()
    const started = watched.started(polls.sample?.usage ?? [])
    watched.onStall(stall, { ...quieted, ...(started.length === 0 ? {} : { started }) })
  }
  const endPolls = clock.every(sampleIntervalMs(limits), pollOnce)
  return { onLine: (stream, before, after) => onLine(polls, stream, before, after), end: endPolls }
}

/** The call that was open when it stopped or died. */
const openCallOf = (reading: Transcript): string | undefined => {
  const call = reading.openCalls.at(-1)
  if (call === undefined) return undefined
  const about = call.command ?? call.path
  return about === undefined ? call.tool : `${call.tool}: ${about}`
}

/** `question`: the unfinished line of the agent. `started`: programs that it had started when it was stopped. */
interface SeenAtStop {
  question: string
  started: readonly string[]
}

/** What a stall was and where it hung. */
export type SeenStall = Pick<ObservedStall, 'text' | 'call' | 'started'>

/** The text that explains a stall, and the tool call that was open. */
export const stallDescription = (
  stalled: StallCause,
  reading: Transcript,
  { stall, loops, question, started }: { stall: StallLimits; loops: LoopLimits } & SeenAtStop,
): SeenStall => {
  // The last calls may be others than the loop: the agent continued until it was stopped.
  if (stalled === 'doom_loop') return loopOf(reading.calls, loops) ?? mostFrequentCall(reading.calls)
  const call = openCallOf(reading)
  const text = stallText(stalled, stall, { call, question })
  // Once the agent has used a tool, what still runs was most likely started by a tool on purpose. With an open session it waits for
  // its model rather than for a server of tools.
  if (stalled === 'silence' && reading.toolCalls === 0 && started.length > 0) {
    const named = `${text}, before its first step; it had started ${started.join(', ')}`
    return openedIn(reading).opened === true ? { text: named } : { text: named, started }
  }
  return { text, ...defined({ call }) }
}

/**
 * A crash of Node or Python ends with frames and fields, which name no cause; ids in them would make each crash another failure.
 */
const lastWords = (text: string): string => {
  const own = lastOwnLines(text, mostLines).toReversed().join('\n')
  return (own === '' ? text.trim() : own).slice(-longestWords)
}

/** The last output of an agent that died without a known cause; undefined = it did not die, or a rule explains its end. */
const deathText = (
  { driver, name, reading }: Pick<EndedTurn, 'driver' | 'name' | 'reading'>,
  failure: ReportedError,
): string | undefined => {
  if (!isAgentDeath(failure.type)) return undefined
  if (failure.source !== 'stderr') return failure.text
  if (isExplained({ harness: driver, failure, ...openedIn(reading) })) return undefined
  return `${name} ended without its final event; its last output was: ${lastWords(failure.text)}`
}

interface EndedTurn {
  /** Whose rules explain its end. */
  driver: string
  /** What a person calls the agent: its harness, or the program of an `exec`. */
  name: string
  reading: Transcript
  settled: Conclusion
  /** Why Unstuck stopped it; undefined = it was not stopped. */
  cause: string | undefined
}

/**
 * Why an unfinished turn made no progress. Undefined = it was neither stopped for a stall nor died, or the CLI itself reported why it
 * was silent (a retry, a limit): then the provider is the cause, not the agent.
 */
export const stallOf = (
  { driver, name, reading, settled, cause }: EndedTurn,
  { seen, ...limits }: { stall: StallLimits; loops: LoopLimits; seen: () => SeenAtStop },
): ({ kind: NoProgress } & SeenStall) | undefined => {
  if (settled.ok || reading.retry !== undefined || reading.limit !== undefined) return undefined
  if (isStallCause(cause)) return { kind: cause, ...stallDescription(cause, reading, { ...limits, ...seen() }) }
  const text = deathText({ driver, name, reading }, settled.error)
  if (text === undefined) return undefined
  const call = openCallOf(reading)
  return call === undefined
    ? { kind: 'agent_died', text }
    : { kind: 'agent_died', text: `${text}, with this call open: ${call}`, call }
}
