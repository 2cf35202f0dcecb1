/** What waits for a person on the page that it is about; all questions together are in the inbox. */
import { useId } from 'react'
import { questionTopic } from '../../src/api/contract.ts'
import type { BoardGoal, BoardQuestion } from '../logic/board.ts'
import type { ServerClock } from '../logic/clock.ts'
import { happenedIn, isAboutWork } from '../logic/questions.ts'
import { linkTo } from '../logic/route.ts'
import { Ago, TextBlock, SafeText } from './basics.tsx'
import { Choices } from './choices.tsx'
import { WorkView } from './diff.tsx'
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

export const Tried = ({ tried }: { tried: readonly string[] }) =>
  tried.length === 0 ? null : (
    <div>
      <h3>What was tried</h3>
      <ul className="tried">
        {tried.map((text) => (
          <li key={text}>
            <SafeText text={text} />
          </li>
        ))}
      </ul>
    </div>
  )

/** Each link shows its key, so that readers find it. `line`: a text to find in the log. */
export const RunLinks = ({ run, line = '' }: { run: string; line?: string }) => (
  <p className="evidence">
    <a href={linkTo.diff(run)} aria-keyshortcuts="d">
      What the run changed <kbd>d</kbd>
    </a>
    <a href={line === '' ? linkTo.log(run) : linkTo.logLine(run, line)} aria-keyshortcuts="l">
      Log of the run <kbd>l</kbd>
    </a>
  </p>
)

const Asked = ({ question, ...rest }: AskedProps) => {
  const name = useId()
  return (
    <article className="asked" aria-labelledby={name} data-run={question.runId ?? undefined}>
      <p className="question" id={name}>
        <span className="badge warn">{questionTopic(question)}</span> <SafeText text={happenedIn(question)} />
      </p>
      <Tried tried={question.tried} />
      {question.details !== '' && (
        <details open>
          <summary>Details</summary>
          <TextBlock text={question.details} />
        </details>
      )}
      {question.runId !== null && isAboutWork(question) && <WorkView run={question.runId} />}
      {question.runId !== null && <RunLinks run={question.runId} />}
      <Choices question={question} />
      <About question={question} {...rest} />
    </article>
  )
}

interface OwnQuestionsProps extends Omit<AskedProps, 'question'> {
  questions: readonly BoardQuestion[]
}

/** The questions that a page is about. */
export const OwnQuestions = ({ questions, ...rest }: OwnQuestionsProps) =>
  questions.map((question) => (
    <div key={question.id} className="questions own">
      <Asked question={question} {...rest} />
    </div>
  ))
