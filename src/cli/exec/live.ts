/** What `unstuck exec` shows while an agent works: the agent's words on standard output, ours on standard error, so that a pipe gets what the agent said. */
import type { ExecEvent, ExecResult } from '../../exec/contract.ts'
import { refusedThing } from '../../exec/remedy.ts'
import { doing } from '../../exec/words.ts'
import type { Io } from '../io.ts'
import { clockOf, safe, secondsText, type Paint } from '../render.ts'

const lines = (text: string): string => `${text.split('\n').map(safe).join('\n')}\n`

const capital = (name: string): string => `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`

const refusalLines = ({ denials: [first] }: ExecResult, harness: string, end: string): string[] =>
  first === undefined
    ? []
    : [`${end}: ${capital(harness)} was refused ${refusedThing(first)} (${first.text})`, `to allow it: ${first.remedy}`]

const failedLines = ({ exitCode, label, text, changed }: ExecResult): string[] => {
  const named = label === null || label === 'unknown' ? '' : ` (${label.replaceAll('_', ' ')})`
  return [`failed with status ${exitCode}${named}: ${text}`, ...(changed === false ? ['no file was changed'] : [])]
}

/** The last lines: whether the work was done, why not, and what to do. */
const resultLines = (result: ExecResult, harness: string): string[] => {
  const { outcome, until, changed } = result
  const unchanged = changed === false ? ['no file was changed'] : []
  switch (outcome) {
    case 'waiting':
      return [`the provider's limit has to be waited for${until === null ? '' : ` until ${until}`}; run it again then`]
    case 'stopped':
      return ['stopped; nothing of the agent is left running']
    case 'failed':
      return failedLines(result)
    // All agent CLIs exit with 0 when a tool was refused, so the exit status alone does not show the refusal.
    case 'refused':
      return [...unchanged, ...refusalLines(result, harness, 'not done')]
    case 'done':
      return [...refusalLines(result, harness, 'done without what was refused'), ...unchanged]
  }
}

type Note = Extract<ExecEvent, { type: 'note' }>

/** Our own words about an event; undefined where there is nothing to say. */
const remarkOn = (event: Exclude<ExecEvent, Note | { type: 'output' | 'result' }>): string | undefined => {
  switch (event.type) {
    case 'launch': {
      const session = event.resumed ? ', in the same session' : ''
      return event.because === null ? undefined : `${event.because} (launch ${event.number}${session})`
    }
    case 'recovery':
      return `${doing(event.payload.action_taken)} ${event.payload.status === 'success' ? 'helped' : 'did not help'}`
    case 'waiting': {
      const { reason, evidence, seconds, until } = event.payload
      return `${reason}: ${evidence}; to be tried again in ${secondsText(seconds)}, at ${clockOf(until)}`
    }
    case 'quiet':
      return `it has printed nothing for ${secondsText(event.payload.quietSeconds)} and uses no processor time`
    case 'stalled':
      return `${event.payload.stall.replaceAll('_', ' ')}: it is ended`
    case 'blocker':
      return `${event.payload.text} ${event.payload.details}`
  }
}

export const showLive = (io: Io, paint: Paint): ((event: ExecEvent) => void) => {
  let said = ''
  let harness = 'agent'
  const remark = (text: string): void => io.error(`${paint.dim(`unstuck: ${safe(text)}`)}\n`)
  const showNote = ({ kind, text }: Note): void => {
    if (kind !== 'text' && kind !== 'result')
      return io.error(`${paint.dim(`${kind.replace('_', ' ')}: ${safe(text)}`)}\n`)
    // The result repeats the last words.
    if (kind === 'text' || text !== said) io.out(lines(text))
    said = text
  }
  return (event) => {
    if (event.type === 'output')
      return event.stream === 'stdout' ? io.out(`${event.text}\n`) : io.error(`${event.text}\n`)
    if (event.type === 'note') return showNote(event)
    if (event.type === 'launch') harness = event.harness
    if (event.type === 'result') return resultLines(event.payload, harness).forEach(remark)
    const text = remarkOn(event)
    if (text !== undefined) remark(text)
  }
}
