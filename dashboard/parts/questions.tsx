/** What waits for a person: one line on top of every page that opens a list, and openly on the page that it is about. */
import { useId, useState } from 'react'
import type { BoardGoal, BoardQuestion } from '../logic/board.ts'
import type { ServerClock } from '../logic/clock.ts'
import { happenedIn, waitingText } from '../logic/questions.ts'
import { linkTo } from '../logic/route.ts'
import { words } from '../logic/text.ts'
import { Ago, TextBlock, SafeText } from './basics.tsx'
import { Choices } from './choices.tsx'
import { GoalLink, TaskLink } from './links.tsx'

interface AskedProps {
  question: BoardQuestion
  goals: readonly BoardGoal[]
  clock: ServerClock
}

/** When it was asked, and about which goal and task. */
const About = ({ question, goals, clock }: AskedProps) => {
  const goal = goals.find(({ id }) => id === question.goalId)
  const task = goal?.tasks.find(({ id }) => id === question.taskId)
  return (
    <p className="quiet">
      asked <Ago at={question.createdAt} clock={clock} />
      {goal !== undefined && (
        <>
          , goal <GoalLink goal={goal} />
        </>
      )}
      {task !== undefined && (
        <>
          , task <TaskLink task={task} />
        </>
      )}
    </p>
  )
}

const Tried = ({ tried }: { tried: readonly string[] }) =>
  tried.length === 0 ? null : (
    <div>
      <h4>What was tried</h4>
      <ul className="tried">
        {tried.map((text) => (
          <li key={text}>
            <SafeText text={text} />
          </li>
        ))}
      </ul>
    </div>
  )

/** Each link shows its key, so that readers find it. */
const Evidence = ({ run }: { run: string }) => (
  <p className="evidence">
    <a href={linkTo.diff(run)} aria-keyshortcuts="d">
      What the run changed <kbd>d</kbd>
    </a>
    <a href={linkTo.log(run)} aria-keyshortcuts="l">
      Log of the run <kbd>l</kbd>
    </a>
  </p>
)

const Asked = ({ question, open = false, ...rest }: AskedProps & { open?: boolean }) => {
  const name = useId()
  return (
    <article className="asked" aria-labelledby={name} data-run={question.runId ?? undefined}>
      <p className="question" id={name}>
        <span className="badge warn">{words(question.kind)}</span> <SafeText text={happenedIn(question)} />
      </p>
      <Tried tried={question.tried} />
      {question.details !== '' && (
        <details open={open}>
          <summary>Details</summary>
          <TextBlock text={question.details} />
        </details>
      )}
      {question.runId !== null && <Evidence run={question.runId} />}
      <Choices question={question} />
      <About question={question} {...rest} />
    </article>
  )
}

interface QuestionsProps extends Omit<AskedProps, 'question'> {
  questions: readonly BoardQuestion[]
  /** How many the page itself shows. */
  here: number
}

/** Closed at first, so that open questions do not push the content of the page down. */
export const Questions = ({ questions, here, ...rest }: QuestionsProps) => {
  const [open, setOpen] = useState(false)
  const list = useId()
  const waits = questions.length > 0
  return (
    <section className="questions" aria-labelledby="questions" hidden={!waits}>
      <h2 id="questions" aria-live="polite">
        {waits && (
          <button type="button" aria-expanded={open} aria-controls={list} onClick={() => setOpen(!open)}>
            {waitingText(questions.length, here)}
          </button>
        )}
      </h2>
      <ul id={list} hidden={!open}>
        {open &&
          questions.map((question) => (
            <li key={question.id}>
              <Asked question={question} {...rest} />
            </li>
          ))}
      </ul>
    </section>
  )
}

/** The questions that a page is about. */
export const OwnQuestions = ({ questions, ...rest }: Omit<QuestionsProps, 'here'>) =>
  questions.map((question) => (
    <div key={question.id} className="questions own">
      <Asked question={question} open {...rest} />
    </div>
  ))
