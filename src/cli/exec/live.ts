/** What `unstuck exec` shows while an agent works: the agent's words on standard output, ours on standard error, so that a pipe gets what the agent said. */
import type { ExecEvent, ExecResult } from '../../exec/contract.ts'
import type { Io } from '../io.ts'
import { safe, type Paint } from '../render.ts'
import { durationText, timeText } from '../times.ts'

const lines = (text: string): string => `${text.split('\n').map(safe).join('\n')}\n`

const resultLine = ({ outcome, text, exitCode, denials, until, label }: ExecResult): string | undefined => {
  if (outcome === 'waiting')
    return `the provider's limit has to be waited for${until === null ? '' : ` until ${timeText(until, Date.now())}`}`
  if (outcome === 'stopped') return 'stopped; nothing of the agent is left running'
  if (outcome === 'failed')
    return `failed with status ${exitCode}${label === null || label === 'unknown' ? '' : ` (${label.replaceAll('_', ' ')})`}: ${text}`
  const [first] = denials
  const what = outcome === 'refused' ? 'not done, because it was refused' : 'refused on the way'
  // All agent CLIs exit with 0 when a tool was refused, so the exit status alone does not show the refusal.
  return first === undefined ? undefined : `${what}: ${first.text}${first.kind === 'scope' ? ' (--allow-dir)' : ''}`
}

type Note = Extract<ExecEvent, { type: 'note' }>

/** Our own words about an event; undefined where there is nothing to say. */
const remarkOn = (event: Exclude<ExecEvent, Note | { type: 'output' }>): string | undefined => {
  switch (event.type) {
    case 'launch': {
      const session = event.resumed ? ', the session goes on' : ''
      return event.because === null ? undefined : `${event.because}: launch ${event.number}${session}`
    }
    case 'recovery':
      return `${event.payload.action_taken}: ${event.payload.status}`
    case 'waiting': {
      const { reason, evidence, seconds, until } = event.payload
      return `${reason}: ${evidence}; to be tried again at ${timeText(until, Date.now())}, in ${durationText(seconds)}`
    }
    case 'quiet':
      return `it has printed nothing for ${durationText(event.payload.quietSeconds)} and uses no processor time`
    case 'stalled':
      return `${event.payload.stall.replaceAll('_', ' ')}: it is ended`
    case 'blocker':
      return `${event.payload.text} ${event.payload.details}`
    case 'result':
      return resultLine(event.payload)
  }
}

export const showLive = (io: Io, paint: Paint): ((event: ExecEvent) => void) => {
  let said = ''
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
    const remark = remarkOn(event)
    if (remark !== undefined) io.error(`${paint.dim(`unstuck: ${safe(remark)}`)}\n`)
  }
}
