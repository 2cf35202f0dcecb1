/** Small building blocks of every page. Text that agents or tools wrote goes through `SafeText`, which makes control characters visible. */
import { useEffect, useState, type ReactNode } from 'react'
import { agoText, countdownText, dateText, sinceText, serverTime, type ServerClock } from '../logic/clock.ts'
import { dueWord, groupOf, groupTone, stateTone, stateWord, taskWord } from '../logic/states.ts'
import { foldText, visible } from '../logic/text.ts'

/** The colour and the shape only repeat the word, for readers who cannot tell colours apart. */
export const Badge = ({ state, word = stateWord(state) }: { state: string; word?: string }) => (
  <span className={`badge ${stateTone(state)}`}>{word}</span>
)

/** The state of a task, where a line holds it: a mark and its word. */
export const StateMark = ({ task }: { task: Parameters<typeof taskWord>[0] }) => (
  <span className={`state ${groupTone(groupOf(task))}`} data-group={groupOf(task)}>
    {taskWord(task)}
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
    {countdownText(at, useServerTime(clock), dueWord(status))}
  </time>
)

export const Ago = ({ at, clock }: { at: string; clock: ServerClock }) => (
  <time dateTime={at} title={dateText(at)}>
    {agoText(at, useServerTime(clock))}
  </time>
)

/** How long something has been going on. */
export const Elapsed = ({ from, clock }: { from: string; clock: ServerClock }) => (
  <time dateTime={from} title={`since ${dateText(from)}`}>
    {sinceText(from, useServerTime(clock))}
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
