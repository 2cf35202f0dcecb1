/** What `unstuck exec` shows while an agent works: the agent's words on standard output, ours on standard error, so that a pipe gets what the agent said. */
import type { ExecEvent, ExecResult } from '../../exec/contract.ts'
import { adviceFor, refusedThing } from '../../exec/remedy.ts'
import type { Driver } from '../../harness/driver.ts'
import type { Io } from '../io.ts'
import { safe, type Paint } from '../render.ts'
import { durationText, timeText } from '../times.ts'

const lines = (text: string): string => `${text.split('\n').map(safe).join('\n')}\n`

/** A CLI may quote a page of its rules in a refusal. */
const longestReason = 400

const shortened = (text: string): string => (text.length <= longestReason ? text : `${text.slice(0, longestReason)}…`)

const refusalLines = ({ outcome, denials: [first] }: ExecResult, driver: Driver): string[] =>
  first === undefined
    ? []
    : [
        `${outcome === 'refused' ? 'not done: ' : ''}${driver.name} was refused ${refusedThing(first)}`,
        `  why: ${shortened(first.text)}`,
        `  to allow it: ${first.remedy}`,
      ]

/** `blocked`: what a blocker before it said, which is told once. */
const failureLines = (driver: Driver, { text, exitCode, label }: ExecResult, blocked: string | undefined): string[] => {
  const advice = label === null ? undefined : adviceFor(driver, label)
  const help = advice === undefined ? blocked : `to go on: ${advice}`
  return [`failed with status ${exitCode}: ${shortened(text)}`, ...(help === undefined ? [] : [`  ${help}`])]
}

const waitingLine = (until: string | null): string => {
  const time =
    until === null
      ? ''
      : `; it ends at ${timeText(until, Date.now())}, in ${durationText((Date.parse(until) - Date.now()) / 1000)}`
  return `stopped: the provider's limit is reached${time}. Run the command again then, or give a longer --max-wait`
}

/** Last lines: what became of the work, why, and what to do. Every agent CLI exits with 0 after a refusal, so its status does not show it. */
const resultLines = (driver: Driver, result: ExecResult, blocked: string | undefined): string[] => {
  const { outcome, until, changed } = result
  if (outcome === 'waiting') return [waitingLine(until)]
  if (outcome === 'stopped') return ['stopped; nothing of the agent is left running']
  if (outcome === 'failed') return failureLines(driver, result, blocked)
  return [...refusalLines(result, driver), ...(changed === false ? ['no file was changed'] : [])]
}

const relaunchLine = ({ because, number, resumed }: Extract<ExecEvent, { type: 'launch' }>): string[] =>
  because === null ? [] : [`${shortened(because)} (launch ${number}${resumed ? ', in the same session' : ''})`]

type Note = Extract<ExecEvent, { type: 'note' }>

const stallWords: Record<string, string> = {
  doom_loop: 'the agent repeats the same calls with the same results; it is stopped',
  silence: 'the agent is not responding; it is stopped',
}

/** Our own words about an event, a line each; none where there is nothing to say. */
const remarksOn = (event: Exclude<ExecEvent, Note | { type: 'output' | 'result' }>): string[] => {
  switch (event.type) {
    case 'launch':
      return relaunchLine(event)
    // What helped shows in how the agent goes on; what did not is said by the last lines.
    case 'recovery':
      return event.payload.status === 'success' ? [`that helped: ${shortened(event.payload.issue_detected)}`] : []
    case 'waiting': {
      const { evidence, seconds, until } = event.payload
      return [`${shortened(evidence)}: waiting until ${timeText(until, Date.now())}, for ${durationText(seconds)}`]
    }
    case 'quiet':
      return [
        `the agent has printed nothing for ${durationText(event.payload.quietSeconds)} and uses no processor time`,
      ]
    case 'stalled':
      return [stallWords[event.payload.stall] ?? `the agent is stopped: ${event.payload.stall.replaceAll('_', ' ')}`]
    case 'blocker': {
      const { kind, text, details } = event.payload
      return kind === 'permission' ? [] : [`${text} ${details}`]
    }
  }
}

export const showLive = (io: Io, paint: Paint, driver: Driver): ((event: ExecEvent) => void) => {
  let said = ''
  let noted = ''
  let blocked: string | undefined
  const remark = (text: string): void => io.error(`unstuck: ${safe(text)}\n`)
  const showNote = ({ kind, text }: Note): void => {
    if (kind !== 'text' && kind !== 'result') {
      // Some CLIs report one error with the message and once more with the result.
      const repeated = `${kind} ${text}` === noted && kind !== 'tool'
      noted = `${kind} ${text}`
      return repeated ? undefined : io.error(`${paint.dim(`${kind.replace('_', ' ')}: ${safe(text)}`)}\n`)
    }
    // The result repeats the last words.
    if (kind === 'text' || text !== said) io.out(lines(text))
    said = text
  }
  return (event) => {
    if (event.type === 'output')
      return event.stream === 'stdout' ? io.out(`${event.text}\n`) : io.error(`${event.text}\n`)
    if (event.type === 'note') return showNote(event)
    if (event.type === 'result') return resultLines(driver, event.payload, blocked).forEach(remark)
    if (event.type === 'blocker' && event.payload.kind === 'permission') blocked = event.payload.details
    remarksOn(event).forEach(remark)
  }
}
