/** What waits for a person, at the top of every page, with its choices as buttons. Other work goes on meanwhile. */
import { answerTo, type Action } from '../data/actions.ts'
import type { Goal, Question } from '../logic/board.ts'
import type { ServerClock } from '../logic/clock.ts'
import { linkTo } from '../logic/route.ts'
import { visible, words } from '../logic/text.ts'
import { Actions } from './actions.tsx'
import { Ago, Block, Said } from './basics.tsx'
import { GoalLink, TaskLink } from './links.tsx'

/** One main button is a proposal, two are none. */
const plain = ({ tone, ...action }: Action, later: boolean): Action =>
  tone === undefined || (tone === 'main' && later) ? action : { ...action, tone }

interface AskedProps extends Omit<QuestionsProps, 'questions'> {
  question: Question
}

/** When it was asked, and about what. */
const About = ({ question, goals, clock }: Omit<AskedProps, 'open'>) => {
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
      {question.runId !== null && (
        <>
          , <a href={linkTo.run(question.runId)}>the run</a>
        </>
      )}
    </p>
  )
}

const Asked = ({ question, open, ...rest }: AskedProps) => (
  <li>
    <p className="question">
      <span className="badge warn">{words(question.kind)}</span> <Said text={question.question} />
    </p>
    {question.details !== '' && (
      <details open={open}>
        <summary>Why, and what helps</summary>
        <Block text={question.details} />
      </details>
    )}
    <About question={question} {...rest} />
    <Actions
      actions={question.choices.map((choice, index) => plain(answerTo(question, choice), index > 0))}
      about={visible(question.question)}
    />
  </li>
)

interface QuestionsProps {
  questions: readonly Question[]
  goals: readonly Goal[]
  clock: ServerClock
  /** Whether the details are shown without being asked for. */
  open: boolean
}

export const Questions = ({ questions, ...rest }: QuestionsProps) => (
  <section className="questions" aria-labelledby="questions" aria-live="polite" hidden={questions.length === 0}>
    <h2 id="questions">{questions.length === 1 ? 'One question to you' : `${questions.length} questions to you`}</h2>
    <ul>
      {questions.map((question) => (
        <Asked key={question.id} question={question} {...rest} />
      ))}
    </ul>
  </section>
)
