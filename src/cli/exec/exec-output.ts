/** The output of `unstuck exec`: what the agent says goes to standard output, our remarks to standard error, so that a pipe gets only the agent's text. */
import type { ExecEvent, ExecResult } from '../../exec/exec-events.ts'
import { failureAdvice, refusedSubject } from '../../exec/remedy.ts'
import type { Driver } from '../../harness/driver.ts'
import type { Io } from '../io.ts'
import { safe, type Paint } from '../render.ts'
import { durationText, timeText, whenText } from '../times.ts'

const lines = (text: string): string => `${text.split('\n').map(safe).join('\n')}\n`

/** Characters of a reason that are shown: in a refusal a CLI may quote pages of its rules. */
const maxReason = 400

const shortened = (text: string): string => (text.length <= maxReason ? text : `${text.slice(0, maxReason)}…`)

const refusalLines = ({ outcome, denials: [first] }: ExecResult, driver: Driver): string[] =>
  first === undefined
    ? []
    : [
        `${outcome === 'refused' ? 'not done: ' : ''}${driver.name} was refused ${refusedSubject(first)}`,
        `  why: ${shortened(first.text)}`,
        `  to allow it: ${first.remedy}`,
      ]

/** `blocked`: the advice of an earlier blocker, which is printed only here. */
const failureLines = (driver: Driver, { text, exitCode, label }: ExecResult, blocked: string | undefined): string[] => {
  const advice = label === null ? undefined : failureAdvice(driver, label)
  const help = advice === undefined ? blocked : `what to do: ${advice}`
  return [`the agent failed with status ${exitCode}: ${shortened(text)}`, ...(help === undefined ? [] : [`  ${help}`])]
}

const waitingLine = (until: string | null): string => {
  const [time, then] = until === null ? ['', 'later'] : [`; the limit ends ${whenText(until, Date.now())}`, 'then']
  return `stopped, because the provider's limit is reached${time}. Run the command again ${then}, or give a longer --max-wait`
}

/** The last lines: the outcome, why, and what to do. They matter because every agent CLI exits with 0 after a refusal. */
const resultLines = (driver: Driver, result: ExecResult, blocked: string | undefined): string[] => {
  const { outcome, until, changed } = result
  if (outcome === 'waiting') return [waitingLine(until)]
  if (outcome === 'stopped') return ['stopped; no process of the agent is left running']
  if (outcome === 'failed') return failureLines(driver, result, blocked)
  return [...refusalLines(result, driver), ...(changed === false ? ['no file was changed'] : [])]
}

const relaunchLine = ({ because, number, resumed }: Extract<ExecEvent, { type: 'launch' }>): string[] =>
  because === null ? [] : [`${shortened(because)} (launch ${number}${resumed ? ', in the same session' : ''})`]

type Note = Extract<ExecEvent, { type: 'note' }>

const stallWords: Record<string, string> = {
  doom_loop: 'the agent repeats the same calls with the same results, so it is stopped',
  silence: 'the agent is not responding, so it is stopped',
}

/** Our remarks about an event, one line each; empty for events that need none. */
const remarksOn = (event: Exclude<ExecEvent, Note | { type: 'output' | 'result' }>): string[] => {
  switch (event.type) {
    case 'launch':
      return relaunchLine(event)
    // A recovery that failed is reported by the last lines.
    case 'recovery':
      return event.payload.status === 'success' ? [`recovered from: ${shortened(event.payload.issue_detected)}`] : []
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

export const showOutput = (io: Io, paint: Paint, driver: Driver): ((event: ExecEvent) => void) => {
  let lastText = ''
  let lastNote = ''
  let blocked: string | undefined
  const remark = (text: string): void => io.error(`unstuck: ${safe(text)}\n`)
  const showNote = ({ kind, text }: Note): void => {
    if (kind !== 'text' && kind !== 'result') {
      // Some CLIs report an error twice: with the message and with the result.
      const repeated = `${kind} ${text}` === lastNote && kind !== 'tool'
      lastNote = `${kind} ${text}`
      return repeated ? undefined : io.error(`${paint.dim(`${kind.replace('_', ' ')}: ${safe(text)}`)}\n`)
    }
    // The result repeats the last text.
    if (kind === 'text' || text !== lastText) io.out(lines(text))
    lastText = text
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
