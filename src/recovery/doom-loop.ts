/**
 * Detects an agent that repeats itself, from its structured tool calls alone: the same call with the same input and the same
 * result several times, or two or three such calls in turn. A different result counts as progress, and polling a
 * long-running command counts as waiting. Pure and without a clock, so reading the same output again gives the same result.
 */
import { normalised, normalisedLength } from './signature.ts'

/** The parts of a tool call that the detector needs. */
export interface CallTrace {
  /** The tool and its target, for people. */
  name: string
  /** Equal for the same tool with the same input; absent = the CLI did not report the input, so the call equals no other. */
  key?: string
  /** The result, possibly truncated; absent = the call is still open. */
  result?: string
}

/** Infinity = the detector is off. */
export interface LoopLimits {
  sameCalls: number
  /** Rounds of two or three calls in turn. */
  pingPong: number
  /** Mostly repeated calls without a change in the workspace. */
  callsWithoutChange: number
  /** Retries by the CLI itself, which some CLIs never end. */
  ownRetries: number
}

/** Defaults of the configuration's `doomLoop`; -1 = off. */
export const defaultLoopSettings = { sameCalls: 5, pingPong: 4, callsWithoutChange: 60, ownRetries: 30 }
export type LoopSettings = typeof defaultLoopSettings

const orNever = (count: number): number => (count === -1 ? Number.POSITIVE_INFINITY : count)

export const loopLimits = (settings: LoopSettings): LoopLimits => ({
  sameCalls: orNever(settings.sameCalls),
  pingPong: orNever(settings.pingPong),
  callsWithoutChange: orNever(settings.callsWithoutChange),
  ownRetries: orNever(settings.ownRetries),
})

export interface Loop {
  call: string
  text: string
}

/** Tools that poll something running, and commands that wait by themselves. */
const waitingTool = /output|wait|poll|status|monitor|sleep|stdin/i
const waitingCommand = /\b(?:sleep|wait|watch|tail\b.*?\s-[a-zA-Z]*[fF]|--watch|--follow)\b/

const isWaiting = ({ name }: CallTrace): boolean => {
  const [tool = '', ...about] = name.split(': ')
  return waitingTool.test(tool) || waitingCommand.test(about.join(': '))
}

/** The text without parts that differ on every run (durations, ids). */
const withoutDiffering = (text: string): string =>
  Array.from({ length: Math.ceil(text.length / normalisedLength) }, (_, part) =>
    normalised(text.slice(part * normalisedLength, (part + 1) * normalisedLength)),
  ).join('\n')

/** Equal for equal calls with equal results. Expensive for a long result, so it is used only where the calls already repeat. */
const stampOf = (call: CallTrace): string | undefined =>
  call.key === undefined || call.result === undefined ? undefined : `${call.key} ${withoutDiffering(call.result)}`

/** How many times in a row the last `period` calls were made, including the last time. */
const roundsOf = (stamps: readonly (string | undefined)[], period: number): number => {
  let matched = 0
  for (let at = stamps.length - 1 - period; at >= 0; at -= 1) {
    if (stamps[at] === undefined || stamps[at] !== stamps[at + period]) break
    matched += 1
  }
  return Math.floor(matched / period) + 1
}

const longestPeriod = 3

/** The loop that the newest completed calls form; undefined = none. */
export const loopOf = (made: readonly CallTrace[], limits: LoopLimits): Loop | undefined => {
  const calls = made.filter(({ result }) => result !== undefined)
  const keys = calls.map(({ key }) => key)
  for (let period = 1; period <= longestPeriod; period += 1) {
    const last = calls.slice(-period)
    if (last.length < period || last.some(isWaiting) || keys.at(-1) === undefined) continue
    const enoughRounds = period === 1 ? limits.sameCalls : limits.pingPong
    if (roundsOf(keys, period) < enoughRounds) continue
    const rounds = roundsOf(calls.map(stampOf), period)
    if (rounds < enoughRounds) continue
    const call = last.map(({ name }) => name).join(' and ')
    const text =
      period === 1
        ? `it made the same call ${rounds} times in a row and got the same result: ${call}`
        : `it made these ${period} calls in turn ${rounds} times and got the same results: ${call}`
    return { call, text }
  }
  return undefined
}

const newest = 40
const enough = 20
const fewDistinct = 0.25

/** Whether most of the newest calls are repetitions with the same results. Not a loop if the workspace changed meanwhile. */
export const isRepeating = (made: readonly CallTrace[]): boolean => {
  const calls = made
    .filter((call) => !isWaiting(call) && call.key !== undefined && call.result !== undefined)
    .slice(-newest)
  const isFew = (marks: readonly unknown[]): boolean => new Set(marks).size <= calls.length * fewDistinct
  return calls.length >= enough && isFew(calls.map(({ key }) => key)) && isFew(calls.map(stampOf))
}

/** The most frequent call, for a repetition without a strict loop. */
export const mostFrequentCall = (made: readonly CallTrace[]): Loop => {
  const counts = new Map<string, number>()
  for (const { name } of made) counts.set(name, (counts.get(name) ?? 0) + 1)
  const [call, count] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? ['no call', 0]
  return {
    call,
    text: `its calls repeat and change nothing in the workspace; the most frequent (${count} of the last ${made.length}): ${call}`,
  }
}
