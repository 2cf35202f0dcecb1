/**
 * An agent that goes in circles, told from its structured calls alone: the same call with the same input and the same
 * answer, again and again, or two or three such calls in turn. An answer that differs is progress, and asking a long
 * command how far it is means waiting. Pure; it reads no clock, so output that is read again gives the same.
 */
import { normalised, normalisedLength } from './signature.ts'

/** A tool call as far as this needs it. */
export interface CallTrace {
  /** Tool and what it was about, for people. */
  name: string
  /** Equal for equal tools with equal input; absent = the CLI did not tell the input, so it equals no other. */
  key?: string
  /** What it was answered, as far as that is kept; absent = not answered yet. */
  answer?: string
}

/** Infinity = that detector is off. */
export interface LoopLimits {
  sameCalls: number
  /** Rounds of two or three calls in turn. */
  pingPong: number
  /** Calls without any change of the work, most of which were made before. */
  callsWithoutChange: number
  /** Retries of the CLI itself: some CLIs never end them. */
  ownRetries: number
}

/** Defaults of the configuration's `doomLoop`; -1 = off. */
export const standardLoop = { sameCalls: 5, pingPong: 4, callsWithoutChange: 60, ownRetries: 30 }
export type LoopSettings = typeof standardLoop

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

/** Tools that look after something that runs, and commands that wait by themselves. */
const waitingTool = /output|wait|poll|status|monitor|sleep|stdin/i
const waitingCommand = /\b(?:sleep|wait|watch|tail\b.*?\s-[a-zA-Z]*[fF]|--watch|--follow)\b/

const isWaiting = ({ name }: CallTrace): boolean => {
  const [tool = '', ...about] = name.split(': ')
  return waitingTool.test(tool) || waitingCommand.test(about.join(': '))
}

/** The whole of a text without what differs each time (durations, ids). */
const withoutDiffering = (text: string): string =>
  Array.from({ length: Math.ceil(text.length / normalisedLength) }, (_, part) =>
    normalised(text.slice(part * normalisedLength, (part + 1) * normalisedLength)),
  ).join('\n')

/** Equal for equal calls with equal answers. Costly for a long answer: only asked where the calls alone look like a circle. */
const stampOf = (call: CallTrace): string | undefined =>
  call.key === undefined || call.answer === undefined ? undefined : `${call.key} ${withoutDiffering(call.answer)}`

/** How often the last `period` calls were made in a row, the last time included. */
const roundsOf = (stamps: readonly (string | undefined)[], period: number): number => {
  let matched = 0
  for (let at = stamps.length - 1 - period; at >= 0; at -= 1) {
    if (stamps[at] === undefined || stamps[at] !== stamps[at + period]) break
    matched += 1
  }
  return Math.floor(matched / period) + 1
}

const longestPeriod = 3

/** The circle in which the newest answered calls go, if any. */
export const loopOf = (made: readonly CallTrace[], limits: LoopLimits): Loop | undefined => {
  const calls = made.filter(({ answer }) => answer !== undefined)
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
        ? `it made the same call ${rounds} times in a row and got the same answer: ${call}`
        : `it made these ${period} calls in turn ${rounds} times and got the same answers: ${call}`
    return { call, text }
  }
  return undefined
}

const newest = 40
const enough = 20
const fewDistinct = 0.25

/** Whether most of the newest calls were made before, with the same answers. Not yet a loop: the work may have grown. */
export const isCircling = (made: readonly CallTrace[]): boolean => {
  const calls = made
    .filter((call) => !isWaiting(call) && call.key !== undefined && call.answer !== undefined)
    .slice(-newest)
  const isFew = (marks: readonly unknown[]): boolean => new Set(marks).size <= calls.length * fewDistinct
  return calls.length >= enough && isFew(calls.map(({ key }) => key)) && isFew(calls.map(stampOf))
}

/** The call that was made most often, to name one where no strict circle is seen. */
export const mostFrequent = (made: readonly CallTrace[]): Loop => {
  const counts = new Map<string, number>()
  for (const { name } of made) counts.set(name, (counts.get(name) ?? 0) + 1)
  const [call, count] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? ['no call', 0]
  return {
    call,
    text: `its calls repeat and change nothing in the work; most often, ${count} of the last ${made.length} times: ${call}`,
  }
}
