/**
 * When a silent agent is stuck. Each way of standing still has a clock of its own; a clock runs only while two signals
 * agree, no output and no CPU time in the agent's whole tree. What keeps its processor busy is at work, however silent.
 * Pure: the runtime looks, this counts.
 */

/** Ways in which an agent that should be at work does nothing; also the causes for which it is stopped. */
export const stallKinds = ['waiting_for_person', 'stuck_after_tool_result', 'hanging_tool', 'silence'] as const
export type StallKind = (typeof stallKinds)[number]

/** Causes of a stop for which the agent itself did not get on. */
export type StallCause = StallKind | 'doom_loop'

/** Ways in which an agent did not get on; one that died was stopped by nobody of ours. */
export type Stalled = StallCause | 'agent_died'

export const isStall = (cause: string | undefined): cause is StallCause =>
  cause === 'doom_loop' || stallKinds.some((kind) => kind === cause)

/** Whether its process went without a last word: killed from outside, crashed, or its output cut off. */
export const isDeath = (errorType: string | undefined): boolean => errorType === 'signal' || errorType === 'no_result'

/** Milliseconds; Infinity = the clock is off. */
export interface StallLimits {
  /** Quiet after a question at a prompt that nobody will answer. */
  waitingForPersonMs: number
  /** Quiet after the last tool call was answered: the model's next turn never came. */
  stuckAfterToolResultMs: number
  /** Quiet of a tool that the CLI shows as running. */
  hangingToolMs: number
  /** Quiet whatever it did before, where no tool runs. */
  silenceMs: number
  /** Quiet for so long is told, and stops nothing. */
  probeMs: number
  /** A tree that uses at least this share of one core is at work. */
  busyShare: number
}

/** Defaults of the configuration's `stall`; -1 = that clock is off. */
export const standardStall = {
  silenceSeconds: 900,
  afterToolResultSeconds: 600,
  toolSeconds: 1800,
  promptSeconds: 180,
  probeSeconds: 300,
  busyCpuPercent: 5,
  lingerSeconds: 30,
}
export type StallSettings = typeof standardStall

const orNeverMs = (seconds: number): number => (seconds === -1 ? Number.POSITIVE_INFINITY : seconds * 1000)

export const stallLimits = (settings: StallSettings): StallLimits => ({
  waitingForPersonMs: orNeverMs(settings.promptSeconds),
  stuckAfterToolResultMs: orNeverMs(settings.afterToolResultSeconds),
  hangingToolMs: orNeverMs(settings.toolSeconds),
  silenceMs: orNeverMs(settings.silenceSeconds),
  probeMs: orNeverMs(settings.probeSeconds),
  busyShare: settings.busyCpuPercent / 100,
})

export interface Look {
  /** Since the look before. */
  passedMs: number
  /** It printed something since then. */
  heard: boolean
  /** CPU time of the tree since then, as a share of one core; absent = it could not be told, which is no signal. */
  cpuShare?: number
  /** The last that it printed was the answer to its last open tool call. */
  afterToolResult: boolean
  /** A tool runs, by the CLI's own word: it may wait for something that is not on this machine. */
  toolRuns: boolean
  /** An unfinished line that asks for an answer. */
  prompt?: string
}

export interface Quiet {
  /** How long both signals agreed since it was heard last. */
  quietMs: number
  probed: boolean
}

export const notQuiet: Quiet = { quietMs: 0, probed: false }

const clocks: Record<StallKind, { limit: (limits: StallLimits) => number; runs: (look: Look) => boolean }> = {
  waiting_for_person: { limit: (limits) => limits.waitingForPersonMs, runs: (look) => look.prompt !== undefined },
  stuck_after_tool_result: { limit: (limits) => limits.stuckAfterToolResultMs, runs: (look) => look.afterToolResult },
  hanging_tool: { limit: (limits) => limits.hangingToolMs, runs: (look) => look.toolRuns },
  silence: { limit: (limits) => limits.silenceMs, runs: (look) => !look.toolRuns },
}

export interface Quietness {
  quiet: Quiet
  /** The clock that ran out. */
  stall?: StallKind
  /** It is time to tell that the agent is quiet; once each time. */
  probe?: true
}

/** What was seen when that clock ran out, in words. `question`: what it had begun to print. */
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
      return `the tool ${call ?? 'that it called'} ran ${long(limits.hangingToolMs)} without output or processor time`
    case 'stuck_after_tool_result':
      return `${after(limits.stuckAfterToolResultMs)} after the answer to its last tool call`
    case 'waiting_for_person': {
      const asked = question.trim() === '' ? '' : `: ${question.trim().slice(-200)}`
      return `${after(limits.waitingForPersonMs)} at a question that nobody will answer${asked}${during}`
    }
  }
}

/** How often to look: often enough for the shortest clock, and not more often than a look is worth. */
export const lookEveryMs = (limits: StallLimits): number => {
  const { waitingForPersonMs, stuckAfterToolResultMs, hangingToolMs, silenceMs, probeMs } = limits
  const all = [waitingForPersonMs, stuckAfterToolResultMs, hangingToolMs, silenceMs, probeMs]
  return Math.max(20, Math.min(10_000, ...all.map((ms) => ms / 8)))
}

export const look = (before: Quiet, seen: Look, limits: StallLimits): Quietness => {
  if (seen.heard) return { quiet: notQuiet }
  const idle = seen.cpuShare !== undefined && seen.cpuShare < limits.busyShare
  if (!idle) return { quiet: before }
  // A look that comes late says that the engine was away (asleep, stopped), not that the agent was silent.
  const counted = Math.min(seen.passedMs, 2 * lookEveryMs(limits))
  const quietMs = before.quietMs + counted
  const stall = stallKinds.find((kind) => clocks[kind].runs(seen) && quietMs >= clocks[kind].limit(limits))
  const probe = !before.probed && quietMs >= limits.probeMs
  return {
    quiet: { quietMs, probed: before.probed || probe },
    ...(stall === undefined ? {} : { stall }),
    ...(probe && stall === undefined ? { probe: true } : {}),
  }
}

/** CPU time of one process of a tree, with that of its children that ended. */
export interface Usage {
  pid: number
  startTime: string
  cpuMs: number
}

/** What a tree used between two looks at it. A process that began in between counts whole. */
export const burntMs = (before: readonly Usage[], after: readonly Usage[]): number => {
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

/** Whether an unfinished line asks for an answer. Only what stands at its end counts: that is where a cursor would blink. */
export const asksForAnswer = (unfinished: string): boolean => {
  const text = unfinished.slice(-300).trimEnd()
  return text !== '' && !text.startsWith('{') && endings.some((ending) => ending.test(text))
}

/** Tools by which an agent puts a question to a person, who is not there. */
const questionTools = /^(?:ask_?user(?:_?question)?|ask_?followup_?question|question|exit_?plan_?mode)$/i

export const isQuestionTool = (tool: string): boolean => questionTools.test(tool)
