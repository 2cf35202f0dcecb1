/** One question of the inbox: a row that names it, and for the open one its evidence beside its choices. */
import { useId } from 'react'
import { answerTo, type Report } from '../data/actions.ts'
import type { ServerClock } from '../logic/clock.ts'
import { nameOf, type InboxQuestion } from '../logic/inbox.ts'
import { happenedIn, isAboutWork } from '../logic/questions.ts'
import { linkTo } from '../logic/route.ts'
import { words } from '../logic/text.ts'
import { Ago, SafeText, TextBlock } from './basics.tsx'
import { ChoiceList } from './choices.tsx'
import { WorkView } from './diff.tsx'
import { ProposalView } from './proposal.tsx'
import { RunLinks, Tried } from './questions.tsx'
import { isAboutDetails, readableTitle } from '../../src/api/contract.ts'

/** The line that shows the cause; the log of the run is opened at it. */
const evidenceLine = ({ failure, proposal }: InboxQuestion): string => {
  const line = proposal?.evidence[0]?.replace(/^[^\s:]+:\d+: ?/, '') ?? failure?.evidence ?? ''
  return line.split('\n', 1)[0]?.slice(0, 200) ?? ''
}

const FailureView = ({ failure }: { failure: NonNullable<InboxQuestion['failure']> }) => (
  <div>
    <h3>Evidence</h3>
    <p>
      <span className="badge">{words(failure.code)}</span>{' '}
      {failure.command !== null && !failure.evidence.startsWith(failure.command) && (
        <>
          <code>
            <SafeText text={failure.command} />
          </code>
          {': '}
        </>
      )}
      <SafeText text={failure.evidence} />
    </p>
    {failure.output !== null && <TextBlock text={failure.output} />}
  </div>
)

const References = ({ lines }: { lines: readonly string[] }) =>
  lines.length === 0 ? null : (
    <div>
      <h3>Evidence of the agent</h3>
      <ul className="tried">
        {lines.map((line) => (
          <li key={line}>
            <SafeText text={line} />
          </li>
        ))}
      </ul>
    </div>
  )

const About = ({ question, clock }: { question: InboxQuestion; clock: ServerClock }) => (
  <p className="quiet">
    asked <Ago at={question.createdAt} clock={clock} />, goal{' '}
    <a href={linkTo.goal(question.goal.id)}>
      <SafeText text={question.goal.title} />
    </a>
    {question.task !== null && (
      <>
        , task{' '}
        <a href={linkTo.task(question.task.id)}>
          #{question.task.number} <SafeText text={readableTitle(question.task.title)} />
        </a>
      </>
    )}
  </p>
)

interface BodyProps {
  question: InboxQuestion
  clock: ServerClock
  /** Whether digits lead to these choices. */
  numbered: boolean
  report: Report
}

const Body = ({ question, clock, numbered, report }: BodyProps) => (
  <div className="inbox-body">
    <div className="asked">
      <p>
        <SafeText text={happenedIn(question)} />
      </p>
      {question.proposal !== null && <ProposalView proposal={question.proposal} />}
      {question.proposal !== null && <References lines={question.proposal.evidence} />}
      {question.failure !== null && <FailureView failure={question.failure} />}
      <Tried tried={question.tried} />
      {question.details !== '' && (
        <details open={isAboutDetails(question)}>
          <summary>Details</summary>
          <TextBlock text={question.details} />
        </details>
      )}
      {question.run !== null && isAboutWork(question) && <WorkView run={question.run.id} />}
      {question.run !== null && <RunLinks run={question.run.id} line={evidenceLine(question)} />}
      <About question={question} clock={clock} />
    </div>
    {numbered ? (
      <div className="inbox-choices" data-digits="">
        <ChoiceList
          choices={question.choices}
          actionFor={(choice, written) => answerTo(question, choice, written)}
          numbered
          report={report}
        />
      </div>
    ) : (
      <p className="quiet">
        Several questions are selected: the answer is chosen once for all of them. <kbd>Esc</kbd> selects none.
      </p>
    )}
  </div>
)

export interface InboxRowProps extends BodyProps {
  current: boolean
  selected: boolean
  /** A question that is alone with its cause has nothing to be answered together with. */
  selectable: boolean
  open: () => void
  select: () => void
}

/** Only of a question that waits for long; a later engine states it, an earlier one does not. */
const severityOf = (question: object): string =>
  'severity' in question && typeof question.severity === 'string' && question.severity !== 'normal'
    ? question.severity
    : ''

export const InboxItem = ({ current, selected, selectable, open, select, ...body }: InboxRowProps) => {
  const { question } = body
  const name = useId()
  const severity = severityOf(question)
  return (
    <li
      className={`inbox-item${current ? ' current' : ''}`}
      data-run={current ? (question.runId ?? undefined) : undefined}
    >
      <div className="inbox-line">
        {selectable && (
          <input
            type="checkbox"
            checked={selected}
            onChange={select}
            aria-labelledby={name}
            tabIndex={current ? 0 : -1}
          />
        )}
        <button
          type="button"
          className="inbox-row"
          id={name}
          data-question={question.id}
          aria-current={current}
          tabIndex={current ? 0 : -1}
          onClick={open}
        >
          <span className="number">{question.number}</span>
          <span className="inbox-name">
            <SafeText text={nameOf(question)} />
          </span>
          {severity !== '' && <span className="badge bad">{words(severity)}</span>}
          {!current && (
            <span className="quiet inbox-said">
              <SafeText text={happenedIn(question)} />
            </span>
          )}
        </button>
      </div>
      {current && <Body {...body} />}
    </li>
  )
}
