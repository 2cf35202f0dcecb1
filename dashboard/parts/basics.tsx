/** Small building blocks of every page. Text that agents or tools wrote goes through `SafeText`, which makes control characters visible. */
import { useEffect, useState, type ReactNode } from 'react'
import { agoText, countdownText, dateText, serverTime, type ServerClock } from '../logic/clock.ts'
import { foldText, visible, words } from '../logic/text.ts'

/** The colour only repeats the word, for readers who cannot tell colours apart. */
const tones: Record<string, string> = {
  running: 'busy',
  active: 'busy',
  acting: 'busy',
  done: 'good',
  success: 'good',
  ready: 'good',
  verified: 'good',
  failed: 'bad',
  blocked: 'warn',
  paused: 'warn',
  awaiting_human: 'warn',
  'not verified': 'bad',
}

export const Badge = ({ state }: { state: string }) => (
  <span className={`badge ${tones[state] ?? tones[state.replace(/\(.*/, '')] ?? ''}`}>
    {words(state).replace('(', ': ').replace(')', '')}
  </span>
)

export const SafeText = ({ text }: { text: string }) => <bdi>{visible(text)}</bdi>

/** A longer text with its line breaks, folded when it is very long. */
export const TextBlock = ({ text }: { text: string }) => {
  const [open, setOpen] = useState(false)
  const shown = visible(text)
  const { head, hidden } = foldText(shown)
  return (
    <div className="block">
      <pre tabIndex={0}>{open ? shown : head}</pre>
      {hidden > 0 && (
        <button type="button" className="link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'show less' : `show ${hidden} more lines`}
        </button>
      )}
    </div>
  )
}

/** The time of the server, updated twice a second. */
const useServerTime = (clock: ServerClock): number => {
  const [, tick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 500)
    return () => clearInterval(timer)
  }, [])
  return serverTime(clock, performance.now())
}

/** `status` of the task says what happens at that time. */
export const Countdown = ({ at, status, clock }: { at: string; status: string; clock: ServerClock }) => (
  <time role="timer" className="badge wait" dateTime={at} title={dateText(at)}>
    {countdownText(at, useServerTime(clock), status === 'blocked(issue_linking)' ? 'question' : 'retry')}
  </time>
)

export const Ago = ({ at, clock }: { at: string; clock: ServerClock }) => (
  <time dateTime={at} title={dateText(at)}>
    {agoText(at, useServerTime(clock))}
  </time>
)

export const Facts = ({ rows }: { rows: [name: string, value: ReactNode][] }) => (
  <dl className="facts">
    {rows
      .filter(([, value]) => value !== null && value !== undefined && value !== '')
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)

export const Section = ({ title, children, extra }: { title: string; children: ReactNode; extra?: ReactNode }) => (
  <section className="panel">
    <div className="panel-head">
      <h2>{title}</h2>
      {extra}
    </div>
    {children}
  </section>
)

export const Loading = ({ what }: { what: string }) => (
  <p role="status" className="quiet">
    Loading {what} …
  </p>
)

/** A command to run in a terminal. */
export const CommandLine = ({ text }: { text: string }) => (
  <pre className="command" tabIndex={0}>
    <code>{text}</code>
  </pre>
)
