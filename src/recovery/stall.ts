/**
 * Decides when a silent agent is stuck. Each kind of stall has its own clock. A clock runs only while the agent prints nothing
 * and its whole process tree uses no CPU time: a busy tree is working, however silent it is. Pure: the runtime takes the
 * samples.
 */
import { defined } from '../domain/defined.ts'

/** The kinds of stall, which are also the causes for which an agent is stopped. */
export const stallKinds = ['waiting_for_person', 'stuck_after_tool_result', 'hanging_tool', 'silence'] as const
export type StallKind = (typeof stallKinds)[number]

/** Causes of a stop because the agent made no progress. */
export type StallCause = StallKind | 'doom_loop'

/** Ways in which an agent made no progress. `agent_died`: its process ended without being stopped by Unstuck. */
export type NoProgress = StallCause | 'agent_died'

export const isStallCause = (cause: string | undefined): cause is StallCause =>
  cause === 'doom_loop' || stallKinds.some((kind) => kind === cause)

/** Whether the process died in the middle of its turn: killed from outside, crashed, or its output cut off. */
export const isAgentDeath = (errorType: string | undefined): boolean =>
  errorType === 'signal' || errorType === 'no_result'

/** Milliseconds; Infinity = the clock is off. */
export interface StallLimits {
  /** Quiet at a prompt with a question that no person will answer. */
  waitingForPersonMs: number
  /** Quiet after the result of the last tool call: the model's next step never came. */
  stuckAfterToolResultMs: number
  /** Quiet while the CLI reports a running tool. */
  hangingToolMs: number
  /** Quiet in any other situation without a running tool. */
  silenceMs: number
  /** Quiet for this long is reported as an event; nothing is stopped. */
  probeMs: number
  /** A process tree that uses at least this share of one core is working. */
  busyShare: number
}

/** Defaults of the configuration's `stall`; -1 = the clock is off. */
export const defaultStallSettings = {
  silenceSeconds: 900,
  afterToolResultSeconds: 600,
  toolSeconds: 1800,
  promptSeconds: 180,
  probeSeconds: 300,
  busyCpuPercent: 5,
  lingerSeconds: 30,
}
export type StallSettings = typeof defaultStallSettings

const orNeverMs = (seconds: number): number => (seconds === -1 ? Number.POSITIVE_INFINITY : seconds * 1000)

/** How much longer an agent may be silent whose answer could be streaming without a sign of it on this machine. */
const unseenFactor = 2

/** `unseen`: an answer may be on its way that nothing shows, so the clocks of silence are longer. */
export const stallLimits = (settings: StallSettings, unseen = false): StallLimits => ({
  waitingForPersonMs: orNeverMs(settings.promptSeconds),
  stuckAfterToolResultMs: orNeverMs(settings.afterToolResultSeconds) * (unseen ? unseenFactor : 1),
  hangingToolMs: orNeverMs(settings.toolSeconds),
  silenceMs: orNeverMs(settings.silenceSeconds) * (unseen ? unseenFactor : 1),
  probeMs: orNeverMs(settings.probeSeconds),
  busyShare: settings.busyCpuPercent / 100,
})

export interface ActivitySample {
  /** Time since the previous sample. */
  passedMs: number
  /** The agent printed something since then. */
  hadOutput: boolean
  /** CPU time of the process tree since then, as a share of one core; absent = unknown, which never counts as idle. */
  cpuShare?: number
  /** Bytes per second that arrived on its connections since then; absent = unknown. */
  receivedPerSecond?: number
  /** The last output was the result of the last open tool call. */
  afterToolResult: boolean
  /** The CLI reports a running tool, which may be waiting for another machine. */
  toolRuns: boolean
  /** An unfinished line that looks like a prompt. */
  prompt?: string
}

export interface Silence {
  /** How long the agent has been silent and idle since its last output. */
  quietMs: number
  probed: boolean
}

export const noSilence: Silence = { quietMs: 0, probed: false }

const clocks: Record<StallKind, { limit: (limits: StallLimits) => number; runs: (look: ActivitySample) => boolean }> = {
  waiting_for_person: { limit: (limits) => limits.waitingForPersonMs, runs: (look) => look.prompt !== undefined },
  stuck_after_tool_result: { limit: (limits) => limits.stuckAfterToolResultMs, runs: (look) => look.afterToolResult },
  hanging_tool: { limit: (limits) => limits.hangingToolMs, runs: (look) => look.toolRuns },
  silence: { limit: (limits) => limits.silenceMs, runs: (look) => !look.toolRuns },
}

export interface SilenceResult {
  silence: Silence
  /** The clock that expired. */
  stall?: StallKind
  /** The silence is now long enough to report. Set once for each silence. */
  probe?: true
}

/** What was observed when the clock expired, as prose. `question`: the unfinished line of output. */
export const stallText = (
  kind: StallKind,
  limits: StallLimits,
  { call, question = '' }: { call?: string | undefined; question?: string },
): string => {
  const after = (limitMs: number): string => `for ${limitMs / 1000} s it printed nothing and used no processor time`
  const long = (limitMs: number): string => (limitMs < 60_000 ? `${limitMs / 1000} s` : `${limitMs / 60_000} minutes`)
  const during = call === undefined ? '' : `, with this call open: ${call}`
  switch (kind) {
    case 'silence':
      return `${after(limits.silenceMs)}${during}`
    case 'hanging_tool':
      return `the tool ${call ?? 'that it called'} ran for ${long(limits.hangingToolMs)} without output or processor time`
    case 'stuck_after_tool_result':
      return `${after(limits.stuckAfterToolResultMs)} after the result of its last tool call`
    case 'waiting_for_person': {
      const asked = question.trim() === '' ? '' : `: ${question.trim().slice(-200)}`
      return `${after(limits.waitingForPersonMs)} at a question that nobody will answer${asked}${during}`
    }
  }
}

/** The interval between samples in milliseconds: short enough for the shortest clock, but not below the cost of a sample. */
export const sampleIntervalMs = (limits: StallLimits): number => {
  const { waitingForPersonMs, stuckAfterToolResultMs, hangingToolMs, silenceMs, probeMs } = limits
  const all = [waitingForPersonMs, stuckAfterToolResultMs, hangingToolMs, silenceMs, probeMs]
  return Math.max(20, Math.min(10_000, ...all.map((ms) => ms / 8)))
}

/** An answer that streams brings thousands of bytes per second, the pings of an open connection a few. */
const answeredPerSecond = 256

/** Adds a sample to the silence so far, and tells which clock expired. */
export const observeSilence = (before: Silence, seen: ActivitySample, limits: StallLimits): SilenceResult => {
  if (seen.hadOutput) return { silence: noSilence }
  const idle =
    seen.cpuShare !== undefined && seen.cpuShare < limits.busyShare && (seen.receivedPerSecond ?? 0) < answeredPerSecond
  if (!idle) return { silence: before }
  // A late sample means that the engine was suspended, so only two intervals of that time count as silence.
  const counted = Math.min(seen.passedMs, 2 * sampleIntervalMs(limits))
  const quietMs = before.quietMs + counted
  const stall = stallKinds.find((kind) => clocks[kind].runs(seen) && quietMs >= clocks[kind].limit(limits))
  const probe = !before.probed && quietMs >= limits.probeMs
  return {
    silence: { quietMs, probed: before.probed || probe },
    ...defined({ stall }),
    ...(probe && stall === undefined ? { probe: true } : {}),
  }
}

/** CPU time of one process of a tree, including its children that have ended. */
export interface ProcessCpu {
  pid: number
  startTime: string
  cpuMs: number
}

/** CPU time in milliseconds that a tree used between two samples. A process that started in between counts completely. */
export const usedCpuMs = (before: readonly ProcessCpu[], after: readonly ProcessCpu[]): number => {
  const known = new Map(before.map(({ pid, startTime, cpuMs }) => [`${pid} ${startTime}`, cpuMs]))
  return after.reduce(
    (sum, { pid, startTime, cpuMs }) => sum + Math.max(0, cpuMs - (known.get(`${pid} ${startTime}`) ?? 0)),
    0,
  )
}

const endings = [
  /\?\s*$/,
  /[:>]\s*$/,
  /[[(]\s*y(?:es)?\s*[/|]\s*n(?:o)?\s*[\])][\s:?]*$/i,
  /\bpress\b.*\b(?:key|enter|return)\b.*$/i,
]

/** Whether an unfinished line looks like a prompt. Only its end counts, because a prompt ends where the cursor waits. */
export const asksForAnswer = (unfinished: string): boolean => {
  const text = unfinished.slice(-300).trimEnd()
  return text !== '' && !text.startsWith('{') && endings.some((ending) => ending.test(text))
}

/** Tools with which an agent asks a person, although no person is present. */
const questionTools = /^(?:ask_?user(?:_?question)?|ask_?followup_?question|question|exit_?plan_?mode)$/i

export const isQuestionTool = (tool: string): boolean => questionTools.test(tool)
